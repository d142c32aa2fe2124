//! Capability flags: what each side of a connection says it can do, exchanged in the handshake.
//!
//! A connection's capabilities are those both sides named ([`SERVER`] `&` the client's). This module holds the bits and
//! the server's own set, and interprets nothing.

/// The client takes the long form of passwords; also "this is MySQL, not MariaDB" to MariaDB's client library.
pub const LONG_PASSWORD: u32 = 1;
/// `affected rows` of an UPDATE counts rows found, not rows changed.
pub const FOUND_ROWS: u32 = 1 << 1;
/// Column flags take two bytes.
pub const LONG_FLAG: u32 = 1 << 2;
/// The handshake response names a database.
pub const CONNECT_WITH_DB: u32 = 1 << 3;
/// `db.table.column` is refused.
pub const NO_SCHEMA: u32 = 1 << 4;
/// The zlib-compressed protocol.
pub const COMPRESS: u32 = 1 << 5;
/// An ODBC client; changes nothing.
pub const ODBC: u32 = 1 << 6;
/// The client answers LOAD DATA LOCAL requests.
pub const LOCAL_FILES: u32 = 1 << 7;
/// The parser ignores spaces before `(`.
pub const IGNORE_SPACE: u32 = 1 << 8;
/// The 4.1 protocol: without it a client is refused.
pub const PROTOCOL_41: u32 = 1 << 9;
/// An interactive client: `interactive_timeout` replaces `wait_timeout`.
pub const INTERACTIVE: u32 = 1 << 10;
/// The client wants TLS after its short first packet.
pub const SSL: u32 = 1 << 11;
/// The client ignores SIGPIPE; changes nothing.
pub const IGNORE_SIGPIPE: u32 = 1 << 12;
/// Both sides know transaction status flags.
pub const TRANSACTIONS: u32 = 1 << 13;
/// Once "protocol 4.1"; unused.
pub const RESERVED: u32 = 1 << 14;
/// Authentication by a 20-byte nonce; the response has a length byte.
pub const SECURE_CONNECTION: u32 = 1 << 15;
/// One COM_QUERY may hold several statements.
pub const MULTI_STATEMENTS: u32 = 1 << 16;
/// One COM_QUERY may give several result sets.
pub const MULTI_RESULTS: u32 = 1 << 17;
/// One COM_STMT_EXECUTE may give several result sets.
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
/// Authentication plugins are named.
pub const PLUGIN_AUTH: u32 = 1 << 19;
/// The handshake response carries connection attributes.
pub const CONNECT_ATTRS: u32 = 1 << 20;
/// The authentication response has a length-encoded length.
pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
/// The client can work with an expired password.
pub const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
/// OK packets may carry session state changes.
pub const SESSION_TRACK: u32 = 1 << 23;
/// Result sets end with an OK packet (header 0xFE) and no EOF follows the column definitions.
pub const DEPRECATE_EOF: u32 = 1 << 24;
/// The server may leave out result set metadata.
pub const OPTIONAL_RESULTSET_METADATA: u32 = 1 << 25;
/// The zstd-compressed protocol; adds a level byte to the handshake response.
pub const ZSTD_COMPRESSION_ALGORITHM: u32 = 1 << 26;
/// COM_QUERY and COM_STMT_EXECUTE may carry named attributes.
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
/// Multi-factor authentication.
pub const MULTI_FACTOR_AUTHENTICATION: u32 = 1 << 28;
/// Reserved for an extension of these flags.
pub const CAPABILITY_EXTENSION: u32 = 1 << 29;
/// The client verifies the server's certificate; never sent.
pub const SSL_VERIFY_SERVER_CERT: u32 = 1 << 30;
/// The client remembers options after a failed connection; never sent.
pub const REMEMBER_OPTIONS: u32 = 1 << 31;

/// What a Tidemill server offers, and [`SSL`] besides where it has a certificate, and the compression
/// that it allows. Not optional metadata.
pub const SERVER: u32 = LONG_PASSWORD
    | FOUND_ROWS
    | LONG_FLAG
    | CONNECT_WITH_DB
    | NO_SCHEMA
    | ODBC
    | LOCAL_FILES
    | IGNORE_SPACE
    | PROTOCOL_41
    | INTERACTIVE
    | IGNORE_SIGPIPE
    | TRANSACTIONS
    | RESERVED
    | SECURE_CONNECTION
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | CONNECT_ATTRS
    | PLUGIN_AUTH_LENENC_CLIENT_DATA
    | CAN_HANDLE_EXPIRED_PASSWORDS
    | SESSION_TRACK
    | DEPRECATE_EOF
    | QUERY_ATTRIBUTES;

/// Whether every bit of `flag` is in `capabilities`.
#[inline]
pub const fn has(capabilities: u32, flag: u32) -> bool {
    capabilities & flag == flag
}
