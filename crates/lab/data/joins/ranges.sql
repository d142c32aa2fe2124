-- OR over indexes, many ranges, the first few of many, conditions on the wrong side of a join.

-- or1: two indexes of one table
select count(*), min(al.id), sum(al.price)
from album al join label l on l.id = al.label_id
where (al.genre_id = 24 and al.year = 2019 or al.reissue_of between 5 and 500 or al.title = 'bace dofogu') and l.founded > 1960;

-- or2: columns of two tables
select count(*) as n, sum(c.sold) as sold
from concert c join venue v on v.id = c.venue_id join artist ar on ar.id = c.artist_id
where c.held between '2019-03-01' and '2019-03-07' and (v.capacity > 50000 or ar.since > 2018);

-- or3: the condition of the join stands in every branch
select count(*) as n, max(t.seconds) as longest
from track t, album al, medium m
where m.id = al.medium_id
  and ((t.album_id = al.id and m.name = 'lp' and al.year > 2015 and t.rating > 8)
    or (t.album_id = al.id and m.name = 'cassette' and al.year < 1970 and t.rating < 2)
    or (t.album_id = al.id and m.name = 'dvd' and al.year = 1984 and t.place = 1));

-- or4: a long list and two ranges
select ar.kind, count(*) as n
from artist ar join credit cr on cr.artist_id = ar.id
where ar.id in (1, 5, 17, 99, 250, 251, 252, 800, 801, 1203, 2044, 7001, 15003, 20117, 33333, 40404, 51234, 59999)
   or ar.since between 1951 and 1952
group by ar.kind
order by ar.kind;

-- top1: the first by an index of the table in the middle
select t.rating, t.title, al.title, l.name
from track t join album al on al.id = t.album_id join label l on l.id = al.label_id
where t.rating is not null and l.kind = 'independent'
order by t.rating desc, t.id
limit 10;

-- top2: the latest plays of a city
select p.heard, li.id, t.title
from play p join listener li on li.id = p.listener_id join city ci on ci.id = li.city_id join track t on t.id = p.track_id
where ci.country_id = 18
order by p.heard desc, p.id
limit 20;

-- top3: the latest of everything, with a rare condition
select c.held, c.id, v.name, ar.name
from concert c join venue v on v.id = c.venue_id join artist ar on ar.id = c.artist_id
where v.kind = 'stadium' and ar.kind = 'group' and ar.ended < 2000
order by c.held desc, c.id
limit 5;

-- top4: the most played of a year, a group before the order
select al.id, al.title, count(*) as plays, sum(p.seconds) as seconds
from album al join track t on t.album_id = al.id join play p on p.track_id = t.id
where al.year = 2010
group by al.id, al.title
order by plays desc, al.id
limit 10;

-- range1: a join key and a range compete on the inner side
select count(*), sum(c.sold)
from artist ar join concert c on c.artist_id = ar.id join venue v on v.id = c.venue_id
where ar.country_id = 18 and ar.since > 1990 and c.held between '2003-01-01' and '2019-12-28' and v.kind <> 'club';

-- range2: equal columns by way of others, and a range that holds for all of them
select count(*), max(t.seconds)
from album al join track t on t.album_id = al.id join credit cr on cr.album_id = t.album_id
where cr.album_id between 70000 and 70400 and cr.role_id = 1;
