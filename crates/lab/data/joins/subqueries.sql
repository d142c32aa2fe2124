-- Subqueries of every form.

-- sub1: IN over a join
select count(*), min(ar.since)
from artist ar
where ar.id in (
  select cr.artist_id from credit cr join album al on al.id = cr.album_id join medium m on m.id = al.medium_id
  where m.name = 'lp' and al.year > 2018);

-- sub2: EXISTS with a condition on both sides
select l.kind, count(*) as labels
from label l
where exists (select 1 from album al where al.label_id = l.id and al.year < l.founded and al.price > 15)
group by l.kind
order by l.kind;

-- sub3: NOT EXISTS: artists of a country that were never on a stage there
select co.name, count(*) as artists
from artist ar join country co on co.id = ar.country_id
where co.region = 'west' and ar.since > 2010
  and not exists (
    select 1 from concert c join venue v on v.id = c.venue_id join city ci on ci.id = v.city_id
    where c.artist_id = ar.id and ci.country_id = ar.country_id)
group by co.id, co.name
order by co.name, artists;

-- sub4: NOT IN, the inner column may be NULL and is asked not to be
select count(*), max(li.born)
from listener li
where li.joined between '2010-01-01' and '2010-03-28'
  and li.id not in (select x.invited_by from listener x where x.invited_by is not null);

-- sub5: a correlated scalar in the list and in the condition
select v.kind, count(*) as venues, sum((select count(*) from concert c where c.venue_id = v.id and c.held >= '2012-01-01')) as held
from venue v
where v.capacity > (select avg(w.capacity) from venue w where w.city_id = v.city_id)
group by v.kind
order by v.kind;

-- sub6: a correlated MAX with few different arguments
select count(*), sum(al.price)
from album al
where al.year = (select max(b.year) from album b where b.genre_id = al.genre_id and b.medium_id = al.medium_id);

-- sub7: a correlated MAX, one for each of a few media, beside joins
select al.id, al.title, al.price, l.name
from album al join label l on l.id = al.label_id
where l.kind = 'major' and al.price = (select max(b.price) from album b where b.medium_id = al.medium_id)
order by al.id;

-- sub8: > ALL and = ANY
select count(*) as n
from concert c join venue v on v.id = c.venue_id
where c.price > all (select d.price from concert d where d.artist_id = c.artist_id and d.id <> c.id)
  and v.city_id = any (select ci.id from city ci where ci.population > 500000);

-- sub9: EXISTS in EXISTS
select count(*) as n
from city ci
where exists (
  select 1 from label l where l.city_id = ci.id and l.kind = 'major'
    and exists (select 1 from album al where al.label_id = l.id and al.year = 2020
      and not exists (select 1 from track t where t.album_id = al.id)));

-- sub10: a row in a subquery, and one that does not depend on anything
select count(*), min(t.id)
from track t
where (t.album_id, t.place) in (select x.album_id, max(x.place) from track x join album al on al.id = x.album_id where al.year = 1999 group by x.album_id)
  and t.seconds > (select avg(y.seconds) from track y where y.rating > 9);
