//! TLS of a started server, tried with the programs `mariadb` and `openssl`: what it offers, demands and refuses.
//!
//! `tests/suite/tls.rs` tries the same from inside with a client of ours; here nobody is ours.

use super::{Program, are_installed};
use harness::server::{Server, Setup};
use harness::step::{self, Outcome, Output};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// ER_SECURE_TRANSPORT_REQUIRED.
const SECURE_TRANSPORT_REQUIRED: &str = "3159";
/// ER_DA_SSL_LIBRARY_ERROR.
const TLS_SETUP_FAILED: &str = "3888";
/// The type of TLS record that an alert comes in.
const ALERT: u8 = 21;

/// All of it, on one server.
#[test]
fn tls_with_the_programs_mariadb_and_openssl() -> Outcome<()> {
    if !are_installed(&["mariadb", "openssl"]) {
        return Ok(());
    }
    let program = Program::new("tls")?;
    let setup = program.setup.clone().without("auto-generate-certs");
    let server = setup.start()?;
    let served = Served {
        setup: &setup,
        foreign: foreign_identity(&setup.datadir.with_extension("foreign"))?,
    };
    served.made_files()?;
    served.versions()?;
    served.certificates()?;
    served.accounts(&server)?;
    served.demanded()?;
    served.injection()?;
    served.reload(&server)?;
    server.terminate()?;
    refused_starts(&setup)
}

struct Served<'a> {
    setup: &'a Setup,
    /// A certificate of an authority that the server does not know, and its key.
    foreign: (PathBuf, PathBuf),
}

impl Served<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.setup.datadir.join(name)
    }

    /// `mariadb` over TCP, which verifies the server's certificate and name.
    fn secure(&self, more: &[String], sql: &str) -> Outcome<Output> {
        let ca = format!("--ssl-ca={}", self.file("ca.pem").display());
        let mut options = vec![ca, "--ssl-verify-server-cert".to_owned()];
        options.extend_from_slice(more);
        self.mariadb(&options, sql)
    }

    fn plain(&self, sql: &str) -> Outcome<Output> {
        self.mariadb(&["--skip-ssl".to_owned()], sql)
    }

    fn mariadb(&self, more: &[String], sql: &str) -> Outcome<Output> {
        step::quietly(
            Command::new("mariadb")
                .args(["--no-defaults", "--host=127.0.0.1", "--protocol=tcp"])
                .args(["--user=root", "--batch", "--skip-column-names"])
                .arg(format!("--port={}", self.setup.port))
                .args(more)
                .args(["--execute", sql]),
        )
    }

    fn openssl(&self, more: &[&str]) -> Outcome<Output> {
        step::quietly(
            Command::new("openssl")
                .args([
                    "s_client",
                    "-starttls",
                    "mysql",
                    "-brief",
                    "-verify_return_error",
                ])
                .arg("-connect")
                .arg(format!("127.0.0.1:{}", self.setup.port))
                .arg("-CAfile")
                .arg(self.file("ca.pem"))
                .args(more),
        )
    }

    /// What the first start made: keys that only the server's user can read.
    fn made_files(&self) -> Outcome<()> {
        for (name, mode) in [
            ("ca-key.pem", 0o600),
            ("server-key.pem", 0o600),
            ("client-key.pem", 0o600),
            ("ca.pem", 0o644),
            ("server-cert.pem", 0o644),
            ("client-cert.pem", 0o644),
        ] {
            let path = self.file(name);
            let about = std::fs::metadata(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            // A stricter umask is no fault.
            let found = about.permissions().mode() & 0o777;
            if found & !mode != 0 {
                return Err(format!("{name} has mode {found:o}, not {mode:o}"));
            }
        }
        Ok(())
    }

    fn versions(&self) -> Outcome<()> {
        for version in ["1.2", "1.3"] {
            let name = format!("TLSv{version}");
            let said = self.openssl(&[&format!("-tls{}", version.replace('.', "_"))])?;
            expect(&said, true, &format!("Protocol version: {name}"))?;
            expect(&said, true, "Verification: OK")?;
            let option = format!("--tls-version={name}");
            let said = self.secure(&[option], "SHOW STATUS LIKE 'Ssl_version'")?;
            expect(&said, true, &name)?;
        }
        expect(&self.openssl(&["-tls1_1"])?, false, "alert")?;
        let said = self.secure(&[], "\\s")?;
        expect(&said, true, "Cipher in use is TLS_AES_256_GCM_SHA384")?;
        println!("    TLS 1.2 and 1.3 with a verified certificate; 1.1 refused");
        Ok(())
    }

    fn certificates(&self) -> Outcome<()> {
        for version in ["TLSv1.2", "TLSv1.3"] {
            let mut options = self.identity();
            options.push(format!("--tls-version={version}"));
            expect(&self.secure(&options, "SELECT 'in'")?, true, "in")?;
            let mut options = showing(&self.foreign.0, &self.foreign.1);
            options.push(format!("--tls-version={version}"));
            expect(&self.secure(&options, "SELECT 'in'")?, false, "ERROR")?;
        }
        Ok(())
    }

    /// The client's certificate that the server has made.
    fn identity(&self) -> Vec<String> {
        showing(&self.file("client-cert.pem"), &self.file("client-key.pem"))
    }

    /// What accounts demand of their clients, each with its password.
    fn accounts(&self, server: &Server) -> Outcome<()> {
        let name = |which: &str| {
            let told = step::must(
                Command::new("openssl")
                    .args(["x509", "-noout", "-nameopt", "compat", which, "-in"])
                    .arg(self.file("client-cert.pem")),
            )?;
            let name = told.trim().split_once('=').map(|(_, name)| name.to_owned());
            name.ok_or_else(|| format!("openssl x509 {which}: '{told}'"))
        };
        let (subject, issuer) = (name("-subject")?, name("-issuer")?);
        let mut conn = server.connect()?;
        // With a certificate, without one, without TLS.
        for (user, demand, lets_in) in [
            ("anyhow", "NONE".to_owned(), [true, true, true]),
            ("tls", "SSL".to_owned(), [true, true, false]),
            ("x509", "X509".to_owned(), [true, false, false]),
            (
                "subject",
                format!("SUBJECT '{subject}'"),
                [true, false, false],
            ),
            ("issuer", format!("ISSUER '{issuer}'"), [true, false, false]),
            (
                "everything",
                format!(
                    "SUBJECT '{subject}' AND ISSUER '{issuer}' AND CIPHER 'TLS_AES_256_GCM_SHA384'"
                ),
                [true, false, false],
            ),
            ("swapped", format!("SUBJECT '{issuer}'"), [false; 3]),
            ("stranger", "ISSUER '/CN=foreign'".to_owned(), [false; 3]),
            (
                "cipher",
                "CIPHER 'TLS_AES_128_GCM_SHA256'".to_owned(),
                [false; 3],
            ),
        ] {
            conn.run(&format!(
                "CREATE USER {user}@localhost IDENTIFIED BY 'secret' REQUIRE {demand}"
            ))
            .map_err(|e| format!("CREATE USER … REQUIRE {demand}: {e}"))?;
            let login = vec![format!("--user={user}"), "--password=secret".to_owned()];
            let mut with = self.identity();
            with.extend_from_slice(&login);
            let mut plain = vec!["--skip-ssl".to_owned()];
            plain.extend_from_slice(&login);
            let sql = "SELECT 'in'";
            let said = [
                self.secure(&with, sql)?,
                self.secure(&login, sql)?,
                self.mariadb(&plain, sql)?,
            ];
            for (said, lets_in) in said.iter().zip(lets_in) {
                let text = if lets_in { "in" } else { "ERROR 1045" };
                expect(said, lets_in, text).map_err(|e| format!("REQUIRE {demand}: {e}"))?;
            }
        }
        Ok(())
    }

    fn demanded(&self) -> Outcome<()> {
        let on = "SET GLOBAL require_secure_transport = ON";
        expect(&self.plain(on)?, true, "")?;
        expect(&self.plain("SELECT 1")?, false, SECURE_TRANSPORT_REQUIRED)?;
        expect(&self.secure(&[], "SELECT 'in'")?, true, "in")?;
        let off = "SET GLOBAL require_secure_transport = OFF";
        expect(&self.secure(&[], off)?, true, "")?;
        expect(&self.plain("SELECT 'in'")?, true, "in")?;
        Ok(())
    }

    /// A whole login and a command behind the request for TLS, in one segment: they are no part of what follows.
    fn injection(&self) -> Outcome<()> {
        let failed = |e: std::io::Error| format!("plaintext before TLS: {e}");
        let mut socket = TcpStream::connect(("127.0.0.1", self.setup.port)).map_err(failed)?;
        let limit = Some(Duration::from_secs(20));
        socket.set_read_timeout(limit).map_err(failed)?;
        let mut greeting = [0; 256];
        let _length = socket.read(&mut greeting).map_err(failed)?;
        let mut bytes = Vec::new();
        // CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, and CLIENT_SSL in the request.
        for (sequence, flags, rest) in [(1, 0x8A00u32, &b""[..]), (2, 0x8200, b"root\0\0")] {
            let length = 32 + rest.len();
            bytes.extend([length as u8, 0, 0, sequence]);
            bytes.extend(flags.to_le_bytes());
            bytes.extend([0, 0, 0, 1, 45]);
            bytes.extend([0; 23]);
            bytes.extend(rest);
        }
        bytes.extend(b"\x11\0\0\0\x03CREATE DATABASE i");
        socket.write_all(&bytes).map_err(failed)?;
        let mut answer = Vec::new();
        // A reset is an end as well.
        let _reset = socket.read_to_end(&mut answer);
        if answer.first().is_some_and(|kind| *kind != ALERT) {
            return Err(format!("plaintext before TLS was answered: {answer:?}"));
        }
        let said = self.plain("SHOW DATABASES LIKE 'i'; SELECT 'alive'")?;
        expect(&said, true, "alive")?;
        if said.text.trim() != "alive" {
            return Err("plaintext before TLS was carried out".to_owned());
        }
        Ok(())
    }

    fn reload(&self, server: &Server) -> Outcome<()> {
        let mut conn = server.connect()?;
        let mut run = |sql: &str| match conn.run(sql) {
            Ok(_) => Ok(String::new()),
            Err(e) => Ok::<String, String>(e.to_string()),
        };
        for (variable, value, back) in [
            ("ssl_cert", "'/nowhere.pem'", "'server-cert.pem'"),
            ("ssl_key", "'client-key.pem'", "'server-key.pem'"),
            ("ssl_ca", "'auto.cnf'", "'ca.pem'"),
            ("ssl_cipher", "'AES128-SHA'", "NULL"),
            ("tls_version", "'TLSv1'", "'TLSv1.2,TLSv1.3'"),
        ] {
            run(&format!("SET GLOBAL {variable} = {value}"))?;
            let told = run("ALTER INSTANCE RELOAD TLS")?;
            if !told.contains(TLS_SETUP_FAILED) {
                return Err(format!("RELOAD TLS with {variable} = {value}: '{told}'"));
            }
            expect(&self.secure(&[], "SELECT 'in'")?, true, "in")?;
            run(&format!("SET GLOBAL {variable} = {back}"))?;
        }
        run("SET GLOBAL tls_version = 'TLSv1.3'")?;
        let told = run("ALTER INSTANCE RELOAD TLS")?;
        if !told.is_empty() {
            return Err(format!("RELOAD TLS: {told}"));
        }
        expect(&self.openssl(&["-tls1_2"])?, false, "alert")?;
        expect(&self.openssl(&["-tls1_3"])?, true, "TLSv1.3")?;
        Ok(())
    }
}

/// The options that have `mariadb` show a certificate.
fn showing(cert: &Path, key: &Path) -> Vec<String> {
    vec![
        format!("--ssl-cert={}", cert.display()),
        format!("--ssl-key={}", key.display()),
    ]
}

/// A certificate that signs itself, and its key.
fn foreign_identity(dir: &Path) -> Outcome<(PathBuf, PathBuf)> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let (cert, key) = (dir.join("foreign.pem"), dir.join("foreign-key.pem"));
    step::must(
        Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
            .args([
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-subj",
                "/CN=foreign",
            ])
            .arg("-out")
            .arg(&cert)
            .arg("-keyout")
            .arg(&key),
    )?;
    Ok((cert, key))
}

/// What cannot be done as asked is no start.
fn refused_starts(setup: &Setup) -> Outcome<()> {
    for (option, text) in [
        ("--ssl-cipher=AES128-SHA", "AES128-SHA"),
        ("--ssl-cert=/nowhere.pem", "/nowhere.pem"),
        ("--tls-version=TLSv1.1", "TLSv1.1"),
        ("--admin-ssl-ca=ca.pem", "admin"),
    ] {
        let named = [
            "--ssl-cert=server-cert.pem",
            "--ssl-key=server-key.pem",
            option,
        ];
        expect(&setup.try_start(&named)?, false, text)?;
    }
    Ok(())
}

/// An error unless a program ended so and said so.
fn expect(said: &Output, success: bool, text: &str) -> Outcome<()> {
    if said.success == success && said.text.contains(text) {
        return Ok(());
    }
    let wanted = if success { "success" } else { "failure" };
    Err(format!(
        "{wanted} with '{text}' was expected:\n{}",
        step::tail(&said.text, 20)
    ))
}
