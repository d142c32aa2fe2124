-- Joins of three to twelve tables: small ones at the ends, conditions that go together, stars and chains.

-- chain1: three tables, a small one chosen by name
select count(*), min(al.year), max(al.price)
from album al join medium m on m.id = al.medium_id join genre g on g.id = al.genre_id
where m.name = 'dvd' and g.parent_id is null;

-- chain2: from a country down to its albums
select g.name, count(*) as albums, sum(al.price) as worth
from country co
join city ci on ci.country_id = co.id
join label l on l.city_id = ci.id
join album al on al.label_id = l.id
join genre g on g.id = al.genre_id
where co.code = 'SD' and l.kind = 'independent'
group by g.name
order by g.name;

-- chain3: who performs with labels of another country
select co2.region, count(*) as credits, count(distinct cr.artist_id) as artists
from country co1
join city ci on ci.country_id = co1.id
join label l on l.city_id = ci.id
join album al on al.label_id = l.id
join credit cr on cr.album_id = al.id
join artist ar on ar.id = cr.artist_id
join country co2 on co2.id = ar.country_id
join role r on r.id = cr.role_id
where co1.region = 'islands' and co2.id <> co1.id and r.name = 'conductor' and l.founded > 2000
group by co2.region
order by co2.region;

-- chain4: both ends are small, the middle is large
select m.name, r.name, count(*) as n
from medium m
join album al on al.medium_id = m.id
join credit cr on cr.album_id = al.id
join role r on r.id = cr.role_id
where m.physical = 1 and r.name in ('engineer', 'designer') and al.year between 1990 and 1992
group by m.name, r.name
order by m.name, r.name;

-- chain5: a star around the plays of one month
select co.region, p.device, count(*) as plays, sum(p.seconds) as seconds
from play p
join listener li on li.id = p.listener_id
join city ci on ci.id = li.city_id
join country co on co.id = ci.country_id
where p.heard >= '2024-12-01' and p.heard < '2024-12-05' and li.plan = 'family'
group by co.region, p.device
order by co.region, p.device;

-- chain6: eight tables from the listener to the label
select l.name, count(*) as plays
from listener li
join city ci on ci.id = li.city_id
join play p on p.listener_id = li.id
join track t on t.id = p.track_id
join album al on al.id = t.album_id
join label l on l.id = al.label_id
join genre g on g.id = al.genre_id
join medium m on m.id = al.medium_id
where ci.population > 1000000 and li.born < 1965 and m.name = 'cd' and g.parent_id = 2
group by l.id, l.name
order by plays desc, l.name, l.id
limit 10;

-- chain7: twelve tables, one artist's world
select co3.region, count(*) as plays, count(distinct li.id) as listeners
from artist ar
join country co1 on co1.id = ar.country_id
join credit cr on cr.artist_id = ar.id
join role r on r.id = cr.role_id
join album al on al.id = cr.album_id
join medium m on m.id = al.medium_id
join label l on l.id = al.label_id
join city ci1 on ci1.id = l.city_id
join track t on t.album_id = al.id
join play p on p.track_id = t.id
join listener li on li.id = p.listener_id
join city ci3 on ci3.id = li.city_id
join country co3 on co3.id = ci3.country_id
where ar.id = 1 and r.name = 'performer' and m.physical = 0 and ci1.country_id = co1.id
group by co3.region
order by co3.region;

-- chain8: the same city twice, once of the venue and once of the label
select count(*) as n, min(c.held), max(c.sold)
from concert c
join venue v on v.id = c.venue_id
join city ci on ci.id = v.city_id
join label l on l.city_id = ci.id
join album al on al.label_id = l.id
join credit cr on cr.album_id = al.id and cr.artist_id = c.artist_id
where v.kind = 'stadium' and c.held >= '2015-01-01';

-- chain9: what two artists have in common
select al.id, al.title, al.year
from credit a
join credit b on b.album_id = a.album_id and b.id > a.id
join album al on al.id = a.album_id
join artist x on x.id = a.artist_id
join artist y on y.id = b.artist_id
where x.since < 1965 and y.since < 1970 and x.country_id = y.country_id and al.year > 2015 and x.kind = 'group'
order by al.id, a.id, b.id
limit 20;

-- chain10: eleven tables, conditions that go together
select g.name, m.name, count(*) as n
from genre g
join album al on al.genre_id = g.id
join medium m on m.id = al.medium_id
join label l on l.id = al.label_id
join city ci on ci.id = l.city_id
join country co on co.id = ci.country_id
join credit cr on cr.album_id = al.id
join role r on r.id = cr.role_id
join artist ar on ar.id = cr.artist_id
join concert c on c.artist_id = ar.id
join venue v on v.id = c.venue_id
where al.year between 1970 and 1975 and m.name = 'cassette' and r.name = 'producer' and v.capacity > 5000 and co.region = 'west'
  and ar.ended is null
group by g.name, m.name
order by g.name, m.name;
