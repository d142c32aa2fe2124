//! A client that speaks TLS, as small as the tests need, and authorities to make certificates with.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use wire::capability;
use wire::client::{ClientError, Login, LoginStep, ResultReader, ResultSet, ServerError, request};
use wire::{Decoder, PacketWriter};

/// A request for TLS, as a client sends it.
pub fn ssl_request() -> Vec<u8> {
    let capabilities = capability::SSL
        | capability::PROTOCOL_41
        | capability::SECURE_CONNECTION
        | capability::PLUGIN_AUTH;
    let mut packet = vec![32, 0, 0, 1];
    packet.extend(capabilities.to_le_bytes());
    packet.extend((1u32 << 24).to_le_bytes());
    packet.push(45);
    packet.extend([0; 23]);
    packet
}

/// A socket that gives up, and the server's greeting from it.
pub fn greeted(address: SocketAddr) -> (TcpStream, Vec<u8>) {
    let mut socket = TcpStream::connect(address).expect("it listens");
    let limit = Some(Duration::from_secs(20));
    socket.set_read_timeout(limit).expect("a socket");
    let greeting = packet(&mut socket).expect("a greeting");
    (socket, greeting)
}

/// A packet's payload off a blocking stream.
pub fn packet(stream: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

/// How a client goes about TLS.
pub struct Secure {
    config: Arc<ClientConfig>,
}

impl Secure {
    /// Trusts `ca`; shows a certificate if it has one; speaks the versions.
    pub fn new(
        ca: &str,
        identity: Option<(&str, &str)>,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Secure {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(ca.as_bytes()).expect("a certificate");
        roots.add(ca).expect("an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let cert = CertificateDer::from_pem_slice(cert.as_bytes()).expect("a certificate");
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                builder
                    .with_client_auth_cert(vec![cert], key)
                    .expect("they match")
            }
        };
        Secure {
            config: Arc::new(config),
        }
    }

    /// TLS over a socket on which it was asked for.
    pub fn over(&self, socket: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let name = ServerName::try_from("localhost").expect("a name");
        let tls = ClientConnection::new(Arc::clone(&self.config), name).expect("a client");
        StreamOwned::new(tls, socket)
    }

    /// Logs in.
    pub fn login(
        &self,
        address: SocketAddr,
        user: &str,
        password: &str,
    ) -> Result<SecureConn, ClientError> {
        let (mut socket, greeting) = greeted(address);
        socket.write_all(&ssl_request())?;
        let mut conn = SecureConn {
            stream: self.over(socket),
            decoder: Decoder::new(1 << 30),
            writer: PacketWriter::new(),
            login: Login::new(user, password, None, true),
        };
        conn.writer.set_sequence(2);
        let mut packet = greeting;
        while conn.login.packet(&packet, &mut conn.writer)? != LoginStep::Done {
            conn.send()?;
            packet = conn.packet()?;
            conn.writer.set_sequence(conn.decoder.sequence());
        }
        Ok(conn)
    }
}

/// A client that is logged in over TLS.
pub struct SecureConn {
    pub stream: StreamOwned<ClientConnection, TcpStream>,
    decoder: Decoder,
    writer: PacketWriter,
    login: Login,
}

impl SecureConn {
    fn send(&mut self) -> Result<(), ClientError> {
        self.decoder.set_sequence(self.writer.sequence());
        self.stream.write_all(self.writer.pending())?;
        self.stream.flush()?;
        self.writer.advance(usize::MAX);
        Ok(())
    }

    fn packet(&mut self) -> Result<Vec<u8>, ClientError> {
        loop {
            if let Some(payload) = self.decoder.next_packet()? {
                return Ok(payload.to_vec());
            }
            let n = self.stream.read(self.decoder.space())?;
            if n == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
            self.decoder.filled(n);
        }
    }

    /// Sends a query, of which the answer is read later.
    pub fn ask(&mut self, sql: &str) -> Result<(), ClientError> {
        request::query(sql.as_bytes(), self.login.capabilities(), &mut self.writer);
        self.send()
    }

    /// The answer to [`SecureConn::ask`].
    pub fn answer(&mut self) -> Result<Vec<ResultSet>, ClientError> {
        let mut reader = ResultReader::new(self.login.capabilities(), false);
        loop {
            let packet = self.packet()?;
            if let Some(results) = reader.packet(&packet)? {
                return Ok(results);
            }
        }
    }

    /// Runs SQL text.
    pub fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, ClientError> {
        self.ask(sql)?;
        self.answer()
    }

    /// The value of a status variable of the session.
    pub fn status(&mut self, name: &str) -> String {
        let sql = format!("SHOW SESSION STATUS LIKE '{name}'");
        let answer = self.query(&sql).expect("SHOW STATUS");
        let rows = super::test_server::texts(&answer[0]);
        rows.first().map(|row| row[1].clone()).unwrap_or_default()
    }
}

/// The error of the server in a raw packet.
pub fn error(packet: &[u8]) -> ServerError {
    ServerError::parse(packet).expect("an error packet")
}

/// Somebody who signs certificates.
pub struct Authority {
    params: CertificateParams,
    key: KeyPair,
    pub pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Authority { params, key, pem }
    }

    /// A certificate and its key for a server called `localhost` and for clients.
    pub fn certify(&self, name: &str, serial: u64) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = named(name);
        params.serial_number = Some(serial.into());
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// A list that revokes a serial number.
    pub fn revoke(&self, serial: u64) -> String {
        let now = std::time::SystemTime::now();
        let list = rcgen::CertificateRevocationListParams {
            this_update: now.into(),
            next_update: (now + Duration::from_secs(1000)).into(),
            crl_number: 1u64.into(),
            issuing_distribution_point: None,
            revoked_certs: vec![rcgen::RevokedCertParams {
                serial_number: serial.into(),
                revocation_time: now.into(),
                reason_code: None,
                invalidity_date: None,
            }],
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        let issuer = Issuer::from_params(&self.params, &self.key);
        let signed = list.signed_by(&issuer).expect("a list");
        signed.pem().expect("a list")
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    params
}
