//! Certificates for a server that was given none: an authority of its own, a certificate for the server and one for a client,
//! made once in the data directory as mysqld makes them.
//!
//! Nothing that is there is ever replaced.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize,
};

/// The authority's certificate.
pub(super) const CA: &str = "ca.pem";
/// The server's certificate.
pub(super) const SERVER_CERT: &str = "server-cert.pem";
/// The server's key.
pub(super) const SERVER_KEY: &str = "server-key.pem";
/// All files that are made.
pub(super) const FILES: [&str; 6] = [
    "ca-key.pem",
    CA,
    SERVER_KEY,
    SERVER_CERT,
    "client-key.pem",
    "client-cert.pem",
];

/// As mysqld: ten years.
const VALID: Duration = Duration::from_secs(3650 * 24 * 60 * 60);
/// A client whose clock is behind takes the certificate too.
const EARLIER: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes the files in `directory`, where none of them may be.
///
/// # Errors
/// Of the keys or the files.
pub(super) fn make(directory: &Path) -> Result<(), String> {
    let made = texts().map_err(|e| e.to_string())?;
    for (name, text) in &made {
        write(&directory.join(name), name.contains("key"), text)
            .map_err(|e| format!("{name}: {e}"))?;
    }
    let folder = std::fs::File::open(directory).and_then(|folder| folder.sync_all());
    folder.map_err(|e| format!("{}: {e}", directory.display()))
}

/// A whole file or none: what is there after a crash is complete.
fn write(path: &Path, secret: bool, text: &str) -> io::Result<()> {
    let beside = path.with_extension("pem.tmp");
    let mode = if secret { 0o600 } else { 0o644 };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let mut file = options.open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// The files' names and contents.
fn texts() -> Result<Vec<(&'static str, String)>, rcgen::Error> {
    // Each takes a fraction of a second of luck.
    let [ca_key, server_key, client_key] = std::thread::scope(|scope| {
        let making = [(); 3].map(|()| {
            scope.spawn(|| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048))
        });
        making.map(|thread| {
            thread
                .join()
                .unwrap_or(Err(rcgen::Error::KeyGenerationUnavailable))
        })
    });
    let (ca_key, server_key, client_key) = (ca_key?, server_key?, client_key?);

    let mut ca = params("CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_cert = ca.self_signed(&ca_key)?;
    let issuer = Issuer::from_params(&ca, &ca_key);

    let mut server = params("Server");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.subject_alt_names = local_names()?;
    let server_cert = server.signed_by(&server_key, &issuer)?;

    let mut client = params("Client");
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let client_cert = client.signed_by(&client_key, &issuer)?;

    let texts = [
        ca_key.serialize_pem(),
        ca_cert.pem(),
        server_key.serialize_pem(),
        server_cert.pem(),
        client_key.serialize_pem(),
        client_cert.pem(),
    ];
    Ok(FILES.into_iter().zip(texts).collect())
}

fn params(role: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let version = env!("CARGO_PKG_VERSION");
    params.distinguished_name.push(
        DnType::CommonName,
        format!("Tidemill_{version}_Auto_Generated_{role}_Certificate"),
    );
    let now = SystemTime::now();
    params.not_before = (now - EARLIER).into();
    params.not_after = (now + VALID).into();
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.use_authority_key_identifier_extension = true;
    params
}

/// What the server is called on its own machine, so that a client there can verify it. (mysqld's certificates name no host.)
fn local_names() -> Result<Vec<rcgen::SanType>, rcgen::Error> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let is_name = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
    };
    if !host.is_empty() && host != "localhost" && is_name(host) {
        names.push(host.to_owned());
    }
    Ok(CertificateParams::new(names)?.subject_alt_names)
}
