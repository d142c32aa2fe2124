-- Outer joins: chains of them, those that a condition makes inner ones, those that ask for what is missing.

-- left1: a chain of four
select co.region, count(*) as labels, count(al.id) as albums, count(cr.id) as credits
from country co
left join city ci on ci.country_id = co.id and ci.population > 200000
left join label l on l.city_id = ci.id and l.kind = 'own'
left join album al on al.label_id = l.id and al.year > 2010
left join credit cr on cr.album_id = al.id and cr.role_id = 3
group by co.region
order by co.region;

-- left2: what is missing
select count(*) as n, min(al.id)
from album al
left join track t on t.album_id = al.id
where t.id is null and al.year between 2000 and 2003;

-- left3: a condition that makes it an inner join
select g.name, count(*) as n
from genre g
left join album al on al.genre_id = g.id
left join label l on l.id = al.label_id
where l.kind = 'major' and al.year = 1980
group by g.name
order by g.name;

-- left4: outer joins of what was joined
select v.kind, count(*) as concerts, count(x.album_id) as with_album, sum(c.sold) as sold
from concert c
join venue v on v.id = c.venue_id
left join (credit x join role r on r.id = x.role_id and r.name = 'performer') on x.artist_id = c.artist_id and x.share > 49
where c.held between '2018-01-01' and '2018-06-28'
group by v.kind
order by v.kind;

-- left5: small tables hang on a chain that is chosen far away
select m.name, g.name, p.name as above, count(*) as n
from credit cr
join album al on al.id = cr.album_id
left join medium m on m.id = al.medium_id
left join genre g on g.id = al.genre_id
left join genre p on p.id = g.parent_id
where cr.artist_id between 500 and 520
group by m.name, g.name, p.name
order by m.name, g.name, p.name;

-- left6: reissues and what they were first
select al.year - o.year as later, count(*) as n
from album al
left join album o on o.id = al.reissue_of
left join label lo on lo.id = o.label_id
where al.reissue_of is not null and (lo.kind = 'major' or lo.id is null)
group by al.year - o.year
order by later
limit 30;

-- left7: who was invited by somebody who has gone quiet
select li.plan, count(*) as invited, count(p.id) as plays
from listener li
join listener by_whom on by_whom.id = li.invited_by
left join play p on p.listener_id = by_whom.id and p.heard >= '2024-11-01'
where li.joined >= '2022-06-01' and by_whom.plan = 'free'
group by li.plan
order by li.plan;

-- left8: seven outer joins around one album in a thousand
select count(*) as n, count(r.id) as roles, count(ar.id) as artists, count(co.id) as countries, count(t.id) as tracks, max(t.rating)
from album al
left join label l on l.id = al.label_id
left join city ci on ci.id = l.city_id
left join country co on co.id = ci.country_id and co.region = 'south'
left join credit cr on cr.album_id = al.id
left join role r on r.id = cr.role_id
left join artist ar on ar.id = cr.artist_id and ar.kind = 'group'
left join track t on t.album_id = al.id and t.rating > 5
where al.id between 60000 and 60120;

-- left9: a right join, and a condition on the outer side in ON
select l.kind, count(al.id) as albums, count(*) as n
from album al
right join label l on al.label_id = l.id and l.founded < 1930 and al.year < 1975
group by l.kind
order by l.kind;

-- left10: what is missing at the end of a chain
select co.code, count(*) as cities
from country co
join city ci on ci.country_id = co.id
left join venue v on v.city_id = ci.id
left join concert c on c.venue_id = v.id and c.held >= '2020-01-01'
where c.id is null and co.id in (3, 7, 18, 33)
group by co.code
order by co.code;
