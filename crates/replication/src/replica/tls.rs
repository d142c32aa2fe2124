//! TLS to another server: of a replica to its source, and of the program's commands to whom they speak to. Without a file of authorities its
//! certificate is not looked at, as with MySQL: the connection is private, and not proven to lead to that server. With it the certificate has
//! to come from there, and where the name is to be verified, too, it has to name the host.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use base::lock::Mutex;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use sql::context::replica::SourceFacts;
use wire::client::blocking::Secured;

use super::outside::Line;

/// Read from the socket at a time.
const PIECE: usize = 16 << 10;

/// What is wanted of a connection over TLS. Files are in PEM; an empty name is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whom it leads to.
    pub host: String,
    /// The authorities that the server's certificate has to come from; none: it is not looked at.
    pub ca: String,
    /// The certificate that is shown.
    pub cert: String,
    /// Its key; none: in the same file.
    pub key: String,
    /// The server's certificate has to name the host.
    pub verify_name: bool,
}

impl Wanted {
    /// Of a replica.
    pub(super) fn of(f: &SourceFacts) -> Result<Wanted, String> {
        if f.ssl_verify_server_cert && f.ssl_ca.is_empty() {
            return Err("SOURCE_SSL_VERIFY_SERVER_CERT needs SOURCE_SSL_CA".to_owned());
        }
        Ok(Wanted {
            host: f.host.clone(),
            ca: f.ssl_ca.clone(),
            cert: f.ssl_cert.clone(),
            key: f.ssl_key.clone(),
            verify_name: f.ssl_verify_server_cert,
        })
    }
}

/// A connection. One thread reads; nobody waits for it who wants to say something.
pub struct Tls {
    connection: Arc<Mutex<ClientConnection>>,
    socket: TcpStream,
    /// What has come and was not asked for yet.
    plain: Vec<u8>,
    taken: usize,
    raw: Vec<u8>,
}

/// A connection, for whoever says something beside the thread that reads.
pub(super) struct TlsLine {
    connection: Arc<Mutex<ClientConnection>>,
    socket: TcpStream,
}

impl Line for TlsLine {
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        say(&self.connection, &self.socket, bytes)
    }

    fn shut(&self) {
        self.socket.shut();
    }
}

fn say(
    connection: &Mutex<ClientConnection>,
    mut socket: &TcpStream,
    bytes: &[u8],
) -> io::Result<()> {
    let mut c = connection.lock();
    for piece in bytes.chunks(PIECE) {
        c.writer().write_all(piece)?;
        send(&mut c, &mut socket)?;
    }
    Ok(())
}

fn send(c: &mut ClientConnection, socket: &mut impl Write) -> io::Result<()> {
    while c.wants_write() {
        c.write_tls(socket)?;
    }
    Ok(())
}

impl Tls {
    /// For whoever is beside the thread that reads.
    pub(super) fn line(&self) -> io::Result<TlsLine> {
        Ok(TlsLine {
            connection: self.connection.clone(),
            socket: self.socket.try_clone()?,
        })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Secured for Tls {}

impl Write for Tls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        say(&self.connection, &self.socket, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Tls {
    /// Waits for bytes; 0: there will be none.
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.plain.len() {
            self.plain.clear();
            self.taken = 0;
            let n = self.socket.read(&mut self.raw)?;
            let mut c = self.connection.lock();
            let mut rest = &self.raw[..n];
            loop {
                c.read_tls(&mut rest)?;
                let state = c.process_new_packets().map_err(io::Error::other)?;
                let at = self.plain.len();
                self.plain.resize(at + state.plaintext_bytes_to_read(), 0);
                c.reader().read_exact(&mut self.plain[at..])?;
                if rest.is_empty() {
                    break;
                }
            }
            send(&mut c, &mut self.socket)?;
            if n == 0 {
                return Ok(0);
            }
        }
        let there = &self.plain[self.taken..];
        let n = there.len().min(space.len());
        space[..n].copy_from_slice(&there[..n]);
        self.taken += n;
        Ok(n)
    }
}

/// How far a certificate is looked at.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: not at all.
    roots: Option<Arc<WebPkiServerVerifier>>,
    /// Whether it has to name the host.
    name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = roots.verify_server_cert(end_entity, intermediates, server_name, ocsp, now);
        match verified {
            // The chain was verified before the name.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    all.map_err(|e| format!("{file}: {e:?}"))
}

fn config(wanted: &Wanted) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = None;
    if !wanted.ca.is_empty() {
        let mut store = RootCertStore::empty();
        for c in certificates(&wanted.ca)? {
            store.add(c).map_err(|e| format!("{}: {e}", wanted.ca))?;
        }
        let made = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone());
        roots = Some(made.build().map_err(|e| e.to_string())?);
    }
    let verifier = Arc::new(Verifier {
        provider: provider.clone(),
        roots,
        name: wanted.verify_name,
    });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    if wanted.cert.is_empty() {
        return Ok(builder.with_no_client_auth());
    }
    let key = match wanted.key.is_empty() {
        true => &wanted.cert,
        false => &wanted.key,
    };
    let key = PrivateKeyDer::from_pem_file(key).map_err(|e| format!("{key}: {e:?}"))?;
    let own = builder.with_client_auth_cert(certificates(&wanted.cert)?, key);
    own.map_err(|e| e.to_string())
}

/// Begins TLS on a socket.
///
/// # Errors
/// Why there is none: a file, or the server's certificate.
pub fn over(mut socket: TcpStream, wanted: &Wanted) -> Result<Tls, String> {
    let name = ServerName::try_from(wanted.host.clone()).map_err(|e| e.to_string())?;
    let config = Arc::new(config(wanted)?);
    let mut c = ClientConnection::new(config, name).map_err(|e| e.to_string())?;
    while c.is_handshaking() {
        c.complete_io(&mut socket).map_err(|e| e.to_string())?;
    }
    Ok(Tls {
        connection: Arc::new(Mutex::new(c)),
        socket,
        plain: Vec::new(),
        taken: 0,
        raw: vec![0; PIECE],
    })
}
