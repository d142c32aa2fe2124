//! The fourteen tables, with the indexes that somebody who knows the queries roughly would make.

use crate::query_comparison::Part;
use std::path::Path;

/// A table and how many rows it has at scale 1. Those that do not grow have the same number at every scale.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) rows: u64,
    pub(super) grows: bool,
    columns: &'static str,
}

const fn fixed(name: &'static str, rows: u64, columns: &'static str) -> Shape {
    Shape {
        name,
        rows,
        grows: false,
        columns,
    }
}

const fn growing(name: &'static str, rows: u64, columns: &'static str) -> Shape {
    Shape {
        grows: true,
        ..fixed(name, rows, columns)
    }
}

/// All of them; a table comes behind those that it points to.
pub(super) const SHAPES: [Shape; 14] = [
    fixed(
        "medium",
        7,
        "id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, physical TINYINT NOT NULL",
    ),
    fixed("role", 10, "id INT PRIMARY KEY, name VARCHAR(20) NOT NULL"),
    fixed(
        "genre",
        25,
        "id INT PRIMARY KEY, name VARCHAR(30) NOT NULL, parent_id INT, KEY (parent_id)",
    ),
    fixed(
        "country",
        50,
        "id INT PRIMARY KEY, code CHAR(2) NOT NULL, name VARCHAR(40) NOT NULL, region VARCHAR(12) NOT NULL, UNIQUE KEY (code)",
    ),
    growing(
        "city",
        1_500,
        "id INT PRIMARY KEY, country_id INT NOT NULL, name VARCHAR(40) NOT NULL, population INT NOT NULL, KEY (country_id)",
    ),
    growing(
        "label",
        4_000,
        "id INT PRIMARY KEY, city_id INT NOT NULL, name VARCHAR(40) NOT NULL, kind VARCHAR(12) NOT NULL, founded INT NOT NULL, \
         KEY (city_id), KEY (name)",
    ),
    growing(
        "venue",
        3_000,
        "id INT PRIMARY KEY, city_id INT NOT NULL, name VARCHAR(40) NOT NULL, kind VARCHAR(12) NOT NULL, capacity INT NOT NULL, \
         KEY (city_id), KEY (capacity)",
    ),
    growing(
        "artist",
        60_000,
        "id INT PRIMARY KEY, country_id INT NOT NULL, name VARCHAR(40) NOT NULL, kind VARCHAR(8) NOT NULL, since INT NOT NULL, \
         ended INT, KEY (country_id), KEY (name), KEY (since)",
    ),
    growing(
        "album",
        120_000,
        "id INT PRIMARY KEY, label_id INT NOT NULL, genre_id INT NOT NULL, medium_id INT NOT NULL, title VARCHAR(60) NOT NULL, \
         year INT NOT NULL, price DECIMAL(8,2) NOT NULL, reissue_of INT, KEY (label_id), KEY (genre_id, year), KEY (year), \
         KEY (medium_id), KEY (reissue_of), KEY (title)",
    ),
    growing(
        "track",
        350_000,
        "id INT PRIMARY KEY, album_id INT NOT NULL, place INT NOT NULL, title VARCHAR(60) NOT NULL, seconds INT NOT NULL, \
         rating DECIMAL(3,1), KEY (album_id, place), KEY (rating)",
    ),
    growing(
        "credit",
        350_000,
        "id INT PRIMARY KEY, album_id INT NOT NULL, artist_id INT NOT NULL, role_id INT NOT NULL, share DECIMAL(5,2), \
         KEY (album_id, role_id), KEY (artist_id), KEY (role_id)",
    ),
    growing(
        "concert",
        80_000,
        "id INT PRIMARY KEY, venue_id INT NOT NULL, artist_id INT NOT NULL, held DATE NOT NULL, sold INT NOT NULL, \
         price DECIMAL(8,2) NOT NULL, KEY (venue_id), KEY (artist_id, held), KEY (held)",
    ),
    growing(
        "listener",
        80_000,
        "id INT PRIMARY KEY, city_id INT NOT NULL, joined DATE NOT NULL, plan VARCHAR(8) NOT NULL, born INT NOT NULL, \
         invited_by INT, KEY (city_id), KEY (joined), KEY (plan), KEY (invited_by)",
    ),
    growing(
        "play",
        400_000,
        "id INT PRIMARY KEY, listener_id INT NOT NULL, track_id INT NOT NULL, heard DATETIME NOT NULL, device VARCHAR(8) NOT NULL, \
         seconds INT NOT NULL, KEY (listener_id, heard), KEY (track_id), KEY (heard)",
    ),
];

/// How many rows there are at a scale.
pub(super) fn rows(shape: &Shape, scale: f64) -> u64 {
    match shape.grows {
        true => ((shape.rows as f64 * scale) as u64).max(20),
        false => shape.rows,
    }
}

/// What is loaded out of `dir`: with `stale` the second half when the statistics have been made.
pub(super) fn all(dir: &Path, stale: bool) -> Vec<Part> {
    let part = |shape: &Shape| Part {
        table: shape.name.to_owned(),
        create: format!(
            "CREATE TABLE {} ({}) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
            shape.name, shape.columns
        ),
        files: vec![dir.join(format!("{}.rows", shape.name))],
        later: match stale && shape.grows {
            true => vec![dir.join(format!("{}.later", shape.name))],
            false => Vec::new(),
        },
    };
    SHAPES.iter().map(part).collect()
}
