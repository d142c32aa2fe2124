-- Derived tables with groups, conditions on the column that they are grouped by, HAVING, DISTINCT, UNION.

-- group1: a condition on the grouping column of a derived table
select d.label_id, d.albums, d.latest
from (select label_id, count(*) as albums, max(year) as latest from album group by label_id) d
where d.label_id = 777;

-- group2: the same through a join
select l.name, d.albums, d.worth
from label l
join (select label_id, count(*) as albums, sum(price) as worth from album group by label_id) d on d.label_id = l.id
where l.id between 100 and 130
order by l.id;

-- group3: two of them joined
select count(*), sum(t.tracks), sum(c.credits)
from (select album_id, count(*) as tracks from track group by album_id) t
join (select album_id, count(*) as credits from credit group by album_id) c on c.album_id = t.album_id
join album al on al.id = t.album_id
where al.year = 1995 and t.tracks > c.credits;

-- group4: HAVING against an aggregate of all
select ci.name, count(*) as concerts
from city ci join venue v on v.city_id = ci.id join concert c on c.venue_id = v.id
where ci.country_id = 1
group by ci.id, ci.name
having count(*) > (select count(*) / 1500 from concert)
order by concerts desc, ci.name, ci.id
limit 25;

-- group5: a range on the grouping column, an aggregate outside
select d.kind, count(*) as artists, sum(d.concerts) as concerts
from (
  select c.artist_id, ar.kind, count(*) as concerts, sum(c.sold) as sold
  from concert c join artist ar on ar.id = c.artist_id
  group by c.artist_id, ar.kind) d
where d.artist_id between 1000 and 3000 and d.sold > 10000
group by d.kind
order by d.kind;

-- group6: DISTINCT over a join that multiplies
select count(*) from (
  select distinct al.label_id, cr.artist_id
  from album al join credit cr on cr.album_id = al.id join label l on l.id = al.label_id
  where l.kind = 'major' and al.year > 2020) d;

-- group7: a union of two ways to be near an artist
select count(*), min(u.id) from (
  select al.id from album al join credit cr on cr.album_id = al.id where cr.artist_id = 1
  union
  select al.id from album al join label l on l.id = al.label_id join city ci on ci.id = l.city_id
  join artist ar on ar.country_id = ci.country_id where ar.id = 1 and al.year = 2021) u;

-- group8: groups of groups
select d.n, count(*) as listeners
from (select p.listener_id, count(distinct t.album_id) as n from play p join track t on t.id = p.track_id
      where p.heard >= '2024-12-15' group by p.listener_id) d
group by d.n
order by d.n;

-- group9: a derived table with a limit is not merged, its condition not pushed
select g.name, d.year, d.price
from (select id, genre_id, year, price from album order by price desc, id limit 500) d
join genre g on g.id = d.genre_id
where d.year > 1995
order by d.price desc, d.id
limit 20;

-- group10: a condition on one of two grouping columns, outer joined
select co.code, d.plan, d.listeners
from country co
left join (
  select ci.country_id, li.plan, count(*) as listeners
  from listener li join city ci on ci.id = li.city_id
  group by ci.country_id, li.plan) d on d.country_id = co.id
where co.region = 'east' and d.plan = 'plus'
order by co.code;
