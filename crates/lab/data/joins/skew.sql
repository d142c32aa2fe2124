-- The same query with a frequent and with a rare value.

-- skew1-often: the artist with the most credits
select r.name, m.name, count(*) as n
from credit cr join role r on r.id = cr.role_id join album al on al.id = cr.album_id join medium m on m.id = al.medium_id
where cr.artist_id = 1
group by r.name, m.name
order by r.name, m.name;

-- skew1-rare: one with few
select r.name, m.name, count(*) as n
from credit cr join role r on r.id = cr.role_id join album al on al.id = cr.album_id join medium m on m.id = al.medium_id
where cr.artist_id = 54003
group by r.name, m.name
order by r.name, m.name;

-- skew2-often: all of the largest country's listeners
select p.device, count(*) as plays
from country co join city ci on ci.country_id = co.id join listener li on li.city_id = ci.id join play p on p.listener_id = li.id
where co.code = 'BB' and li.plan = 'free'
group by p.device
order by p.device;

-- skew2-rare: those of the smallest
select p.device, count(*) as plays
from country co join city ci on ci.country_id = co.id join listener li on li.city_id = ci.id join play p on p.listener_id = li.id
where co.code = 'SD' and li.plan = 'free'
group by p.device
order by p.device;

-- skew3-often: streams of the last years, which are nearly all
select g.name, count(*) as tracks, max(t.rating) as best
from album al join track t on t.album_id = al.id join genre g on g.id = al.genre_id join medium m on m.id = al.medium_id
where al.year > 2014 and m.name = 'stream'
group by g.name
order by g.name;

-- skew3-rare: records of the last years, which are few
select g.name, count(*) as tracks, max(t.rating) as best
from album al join track t on t.album_id = al.id join genre g on g.id = al.genre_id join medium m on m.id = al.medium_id
where al.year > 2014 and m.name = 'lp'
group by g.name
order by g.name;

-- skew4-often: the label with the most albums
select ar.name, count(*) as n
from album al join credit cr on cr.album_id = al.id join artist ar on ar.id = cr.artist_id join role r on r.id = cr.role_id
where al.label_id = 1 and r.name = 'composer'
group by ar.id, ar.name
order by n desc, ar.name, ar.id
limit 10;

-- skew4-rare: a label with few
select ar.name, count(*) as n
from album al join credit cr on cr.album_id = al.id join artist ar on ar.id = cr.artist_id join role r on r.id = cr.role_id
where al.label_id = 3210 and r.name = 'composer'
group by ar.id, ar.name
order by n desc, ar.name, ar.id
limit 10;

-- skew5-often: venues of every size
select v.kind, count(*) as concerts, avg(c.price) as price
from venue v join concert c on c.venue_id = v.id join artist ar on ar.id = c.artist_id join country co on co.id = ar.country_id
where v.capacity > 150 and co.region = 'north' and c.held > '2005-01-01'
group by v.kind
order by v.kind;

-- skew5-rare: the largest alone
select v.kind, count(*) as concerts, avg(c.price) as price
from venue v join concert c on c.venue_id = v.id join artist ar on ar.id = c.artist_id join country co on co.id = ar.country_id
where v.capacity > 56000 and co.region = 'north' and c.held > '2005-01-01'
group by v.kind
order by v.kind;
