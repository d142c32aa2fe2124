//! The rows: skewed where the world is skewed, and columns that go together where they do in the world.
//!
//! What depends on what: an album's genre on its label, its medium on its year, its price on the medium; a credited artist's country on the
//! label's; a concert's venue on the artist's country, the tickets sold on the venue's size; a listener's plan on the country, the device on the
//! plan. An optimiser that multiplies selectivities as if columns were independent is wrong here by orders of magnitude.

use super::chance::{self, Zipf, day, name};
use super::tables::{self, SHAPES};
use base::SplitMix64;
use harness::step::Outcome;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

const MEDIA: &[&str] = &[
    "lp", "single", "cassette", "cd", "dvd", "download", "stream",
];
const ROLES: &[&str] = &[
    "performer",
    "composer",
    "producer",
    "engineer",
    "guest",
    "arranger",
    "lyricist",
    "conductor",
    "remixer",
    "designer",
];
const REGIONS: &[&str] = &["north", "south", "east", "west", "islands"];
const VENUES: &[&str] = &["club", "hall", "theatre", "arena", "stadium"];
const PLANS: &[&str] = &["free", "basic", "plus", "family"];
const DEVICES: &[&str] = &["phone", "desktop", "tv", "car", "speaker"];

const COUNTRIES: u64 = 50;
const GENRES: u64 = 25;

/// How many there are of what is pointed to.
#[derive(Debug, Clone, Copy)]
struct Counts {
    cities: u64,
    labels: u64,
    venues: u64,
    artists: u64,
    albums: u64,
    tracks: u64,
    listeners: u64,
}

impl Counts {
    fn at(scale: f64, times: u64) -> Counts {
        let of = |name: &str| {
            let shape = SHAPES.iter().find(|s| s.name == name);
            shape.map_or(1, |s| tables::rows(s, scale)) * times
        };
        Counts {
            cities: of("city"),
            labels: of("label"),
            venues: of("venue"),
            artists: of("artist"),
            albums: of("album"),
            tracks: of("track"),
            listeners: of("listener"),
        }
    }
}

/// Makes the rows of one table after the other.
struct Maker {
    seed: u64,
    counts: Counts,
    country: Zipf,
    city: Zipf,
    label: Zipf,
    venue: Zipf,
    artist: Zipf,
    album: Zipf,
    track: Zipf,
    listener: Zipf,
    role: Zipf,
}

/// Kinds of things whose facts others need.
mod kind {
    pub(super) const CITY: u64 = 1;
    pub(super) const LABEL: u64 = 2;
    pub(super) const VENUE: u64 = 3;
    pub(super) const ARTIST: u64 = 4;
    pub(super) const ALBUM: u64 = 5;
    pub(super) const LISTENER: u64 = 6;
}

impl Maker {
    fn new(seed: u64, scale: f64, times: u64) -> Maker {
        let counts = Counts::at(scale, times);
        Maker {
            seed,
            counts,
            country: Zipf::over(COUNTRIES, 1),
            city: Zipf::over(counts.cities, 5),
            label: Zipf::over(counts.labels, 3),
            venue: Zipf::over(counts.venues, 20),
            artist: Zipf::over(counts.artists, 30),
            album: Zipf::over(counts.albums, 300),
            track: Zipf::over(counts.tracks, 40),
            listener: Zipf::over(counts.listeners, 100),
            role: Zipf::over(ROLES.len() as u64, 0),
        }
    }

    fn fact(&self, kind: u64, id: u64) -> SplitMix64 {
        chance::of(self.seed, kind, id)
    }

    fn city_country(&self, id: u64) -> u64 {
        self.country.draw(&mut self.fact(kind::CITY, id))
    }

    fn label_city(&self, id: u64) -> u64 {
        self.city.draw(&mut self.fact(kind::LABEL, id))
    }

    /// The genre that a label is known for.
    fn label_genre(&self, id: u64) -> u64 {
        let mut chance = self.fact(kind::LABEL, id);
        chance.next();
        // Few genres have most of the labels.
        (chance.below(GENRES) * chance.below(GENRES)) / GENRES + 1
    }

    fn venue_city(&self, id: u64) -> u64 {
        self.city.draw(&mut self.fact(kind::VENUE, id))
    }

    fn venue_size(&self, id: u64) -> (&'static str, u64) {
        let mut chance = self.fact(kind::VENUE, id);
        chance.next();
        let size = (chance.below(100) * chance.below(100)) / 2000;
        let most = [300, 1_500, 2_500, 15_000, 60_000][size as usize];
        (VENUES[size as usize], most / 2 + chance.below(most / 2))
    }

    fn artist_country(&self, id: u64) -> u64 {
        self.country.draw(&mut self.fact(kind::ARTIST, id))
    }

    fn artist_since(&self, id: u64) -> u64 {
        let mut chance = self.fact(kind::ARTIST, id);
        chance.next();
        2020 - (chance.below(70) * chance.below(70)) / 70
    }

    fn album_label(&self, id: u64) -> u64 {
        self.label.draw(&mut self.fact(kind::ALBUM, id))
    }

    fn album_year(&self, id: u64) -> u64 {
        let mut chance = self.fact(kind::ALBUM, id);
        chance.next();
        let before = (chance.below(60) * chance.below(60)) / 60;
        // What comes later is newer.
        2024 - before * self.counts.albums.saturating_sub(id / 2) / self.counts.albums.max(1)
    }

    fn listener_city(&self, id: u64) -> u64 {
        self.city.draw(&mut self.fact(kind::LISTENER, id))
    }

    fn listener_plan(&self, id: u64) -> u64 {
        let country = self.city_country(self.listener_city(id));
        let mut chance = self.fact(kind::LISTENER, id);
        chance.next();
        // In some countries nearly nobody pays, in others half of the people do.
        match chance.percent(20 + country * 37 % 70) {
            true => 0,
            false => 1 + chance.below(3) * chance.below(3) / 2,
        }
    }

    /// Writes the row of this number of this table.
    fn row(&self, table: &str, id: u64, chance: &mut SplitMix64, out: &mut String) {
        match table {
            "medium" => {
                let physical = u8::from(id <= 5);
                let _ = write!(out, "{id}|{}|{physical}", MEDIA[id as usize - 1]);
            }
            "role" => {
                let _ = write!(out, "{id}|{}", ROLES[id as usize - 1]);
            }
            "genre" => {
                let parent = match id > 5 {
                    true => (id % 5 + 1).to_string(),
                    false => r"\N".to_owned(),
                };
                let _ = write!(out, "{id}|genre {}|{parent}", name(chance, 2));
            }
            "country" => {
                let code = [b'a' + (id % 26) as u8, b'a' + (id / 26 + id % 5) as u8];
                let code = String::from_utf8_lossy(&code).to_ascii_uppercase();
                let region = REGIONS[((id * 3 + id / 7) % 5) as usize];
                let _ = write!(out, "{id}|{code}|{}land|{region}", name(chance, 2));
            }
            "city" => {
                let people = 3_000_000 / (1 + chance.below(300)) + chance.below(1000);
                let _ = write!(
                    out,
                    "{id}|{}|{}|{people}",
                    self.city_country(id),
                    name(chance, 3)
                );
            }
            "label" => {
                // The large ones have most of the albums, and are old.
                let major = (0..40).any(|rank| self.label.at(rank) == id);
                let (kind, founded) = match major {
                    true => ("major", 1920 + chance.below(40)),
                    false if chance.percent(30) => ("own", 1990 + chance.below(34)),
                    false => ("independent", 1950 + chance.below(74)),
                };
                let _ = write!(
                    out,
                    "{id}|{}|{} records|{kind}|{founded}",
                    self.label_city(id),
                    name(chance, 3)
                );
            }
            "venue" => {
                let (kind, capacity) = self.venue_size(id);
                let _ = write!(
                    out,
                    "{id}|{}|{} {kind}|{kind}|{capacity}",
                    self.venue_city(id),
                    name(chance, 2)
                );
            }
            "artist" => {
                let since = self.artist_since(id);
                let ended = match chance.percent(25) {
                    true => (since + chance.below(2025 - since)).to_string(),
                    false => r"\N".to_owned(),
                };
                let kind = if chance.percent(30) {
                    "group"
                } else {
                    "person"
                };
                let country = self.artist_country(id);
                let called = name(chance, 3);
                let _ = write!(out, "{id}|{country}|{called}|{kind}|{since}|{ended}");
            }
            "album" => self.album(id, chance, out),
            "track" => self.one_track(id, chance, out),
            "credit" => self.credit(id, chance, out),
            "concert" => self.concert(id, chance, out),
            "listener" => {
                let joined = day((chance.below(8000) + id * 8000 / self.counts.listeners) / 2);
                let invited = match chance.percent(35) {
                    true => self.listener.draw(chance).to_string(),
                    false => r"\N".to_owned(),
                };
                let plan = self.listener_plan(id);
                let born = 2010 - plan * 10 - chance.below(40);
                let plan = PLANS[plan as usize];
                let _ = write!(
                    out,
                    "{id}|{}|{joined}|{plan}|{born}|{invited}",
                    self.listener_city(id)
                );
            }
            _ => self.play(id, chance, out),
        }
        out.push('\n');
    }

    fn album(&self, id: u64, chance: &mut SplitMix64, out: &mut String) {
        let (label, year) = (self.album_label(id), self.album_year(id));
        let genre = match chance.percent(80) {
            true => self.label_genre(label),
            false => chance.below(GENRES) + 1,
        };
        let (medium, price) = match year {
            ..1984 => (1 + chance.below(3), 1200),
            1984..2005 => (2 + chance.below(4), 1500),
            2005..2014 => (4 + chance.below(3), 1000),
            // All but a few are streamed now.
            _ => (7 - chance.below(12) / 11 * 6, 0),
        };
        let cents = price + chance.below(900);
        let reissue = match id > 10 && chance.percent(4) {
            true => (1 + chance.below(id - 1)).to_string(),
            false => r"\N".to_owned(),
        };
        let _ = write!(
            out,
            "{id}|{label}|{genre}|{medium}|{} {}|{year}|{}.{:02}|{reissue}",
            name(chance, 2),
            name(chance, 3),
            cents / 100,
            cents % 100
        );
    }

    fn one_track(&self, id: u64, chance: &mut SplitMix64, out: &mut String) {
        let album = self.album.draw(chance);
        let seconds = 60 + chance.below(200) + chance.below(200) * chance.below(2);
        let rating = match chance.percent(40) {
            true => format!("{}.{}", 1 + chance.below(9), chance.below(10)),
            false => r"\N".to_owned(),
        };
        let place = 1 + chance.below(14);
        let _ = write!(
            out,
            "{id}|{album}|{place}|{} {}|{seconds}|{rating}",
            name(chance, 1),
            name(chance, 2)
        );
    }

    fn credit(&self, id: u64, chance: &mut SplitMix64, out: &mut String) {
        let album = 1 + chance.below(self.counts.albums);
        let home = self.city_country(self.label_city(self.album_label(album)));
        // Labels like the artists of their own country: a few more tries for one.
        let mut artist = self.artist.draw(chance);
        for _ in 0..3 {
            if self.artist_country(artist) != home {
                artist = self.artist.draw(chance);
            }
        }
        // Conductors are rare, and designers work for what is bought in a shop.
        let role = match (self.role.draw(chance), self.album_year(album)) {
            (10, 2014..) => 1,
            (role, _) => role,
        };
        let share = match role {
            1 | 2 => format!("{}.{:02}", chance.below(50), chance.below(100)),
            _ => r"\N".to_owned(),
        };
        let _ = write!(out, "{id}|{album}|{artist}|{role}|{share}");
    }

    fn concert(&self, id: u64, chance: &mut SplitMix64, out: &mut String) {
        let artist = self.artist.draw(chance);
        let home = self.artist_country(artist);
        let mut venue = self.venue.draw(chance);
        for _ in 0..6 {
            if self.city_country(self.venue_city(venue)) != home {
                venue = self.venue.draw(chance);
            }
        }
        let (_, capacity) = self.venue_size(venue);
        let sold = capacity * (40 + chance.below(61)) / 100;
        let price = 10 + capacity / 500 + chance.below(20);
        let held =
            day((chance.below(8000) + id * 80_000 / (10 * self.counts.listeners)) * 8400 / 16_000);
        let _ = write!(
            out,
            "{id}|{venue}|{artist}|{held}|{sold}|{price}.{:02}",
            chance.below(100)
        );
    }

    fn play(&self, id: u64, chance: &mut SplitMix64, out: &mut String) {
        let listener = self.listener.draw(chance);
        let track = self.track.draw(chance);
        let plan = self.listener_plan(listener);
        let device = match plan {
            0 => chance.below(2),
            3 => 2 + chance.below(3),
            _ => chance.below(5),
        };
        // The last two of the 25 years, more and more.
        let at = 336 * 23 + 672 - chance.below(672) * chance.below(672) / 672 - 1;
        let clock = (chance.below(24), chance.below(60), chance.below(60));
        let seconds = 5 + chance.below(300);
        let _ = write!(
            out,
            "{id}|{listener}|{track}|{} {:02}:{:02}:{:02}|{}|{seconds}",
            day(at),
            clock.0,
            clock.1,
            clock.2,
            DEVICES[device as usize]
        );
    }
}

/// The rows of these numbers of a table, as they are loaded.
fn write(maker: &Maker, at: usize, ids: RangeInclusive<u64>, file: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    let mut chance = SplitMix64::stream(maker.seed, at as u64 * 2 + u64::from(*ids.start() > 1));
    let mut line = String::new();
    for id in ids {
        line.clear();
        maker.row(SHAPES[at].name, id, &mut chance, &mut line);
        out.write_all(line.as_bytes())?;
    }
    out.flush()
}

/// The directory with the files of rows; with `stale` those of the second half too, which may point to all that is there then.
pub(super) fn made(seed: u64, scale: f64, stale: bool, base: &Path) -> Outcome<PathBuf> {
    if !(0.001..=100.0).contains(&scale) {
        return Err(format!("no scale: {scale}"));
    }
    let ending = if stale { "stale-rows" } else { "rows" };
    let named = |ending: &str| PathBuf::from(format!("{}-{ending}", base.display()));
    let dir = named(ending);
    if dir.is_dir() {
        return Ok(dir);
    }
    let fresh = named(&format!("{ending}-{}", std::process::id()));
    let fail = |e: std::io::Error| format!("{}: {e}", fresh.display());
    std::fs::create_dir_all(&fresh).map_err(fail)?;
    let halves = if stale { 2 } else { 1 };
    for half in 1..=halves {
        let maker = Maker::new(seed, scale, half);
        for (at, shape) in SHAPES.iter().enumerate() {
            let rows = tables::rows(shape, scale);
            let (ids, ending) = match half {
                1 => (1..=rows, "rows"),
                _ if shape.grows => (rows + 1..=2 * rows, "later"),
                _ => continue,
            };
            write(
                &maker,
                at,
                ids,
                &fresh.join(format!("{}.{ending}", shape.name)),
            )
            .map_err(fail)?;
        }
    }
    std::fs::rename(&fresh, &dir).map_err(fail)?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(seed: u64, at: usize, ids: RangeInclusive<u64>) -> Vec<String> {
        let maker = Maker::new(seed, 0.01, 1);
        let mut chance = SplitMix64::stream(seed, at as u64);
        let mut out = String::new();
        for id in ids {
            maker.row(SHAPES[at].name, id, &mut chance, &mut out);
        }
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_same_seed_makes_the_same_rows() {
        for (at, shape) in SHAPES.iter().enumerate() {
            let n = tables::rows(shape, 0.01);
            let (a, b) = (lines(28, at, 1..=n), lines(28, at, 1..=n));
            assert_eq!(a, b);
            assert_eq!(a.len() as u64, n, "{}", shape.name);
            if shape.grows {
                assert_ne!(a, lines(29, at, 1..=n), "{}", shape.name);
            }
            let fields: Vec<usize> = a.iter().map(|l| l.split('|').count()).collect();
            assert!(fields.iter().all(|f| *f == fields[0]), "{}", shape.name);
        }
    }

    #[test]
    fn codes_of_countries_are_unique() {
        let all = lines(1, 3, 1..=COUNTRIES);
        let mut codes: Vec<&str> = all.iter().filter_map(|l| l.split('|').nth(1)).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len() as u64, COUNTRIES);
    }

    #[test]
    fn columns_go_together() {
        // Albums of the last years are streamed, those of the first never.
        let albums = lines(28, 8, 1..=1200);
        let of = |line: &String, n: usize| -> u64 {
            let field = line.split('|').nth(n).and_then(|f| f.parse().ok());
            field.unwrap_or(0)
        };
        let share = |albums: Vec<&String>| {
            let streamed = albums.iter().filter(|a| of(a, 3) == 7).count();
            streamed as f64 / albums.len() as f64
        };
        let (new, old): (Vec<_>, Vec<_>) = albums.iter().partition(|a| of(a, 5) >= 2014);
        assert!(new.len() > 100 && old.len() > 100);
        assert!(share(new) > 0.8);
        assert_eq!(share(old), 0.0);
    }
}
