//! What a certificate says, in the forms that OpenSSL gives it: names on one line, times as it prints them.

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::name::Name;
use x509_cert::time::Time;

/// OpenSSL's short names of what names are made of.
const SHORT: &[(&str, &str)] = &[
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.15", "businessCategory"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.20", "telephoneNumber"),
    ("2.5.4.41", "name"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.44", "generationQualifier"),
    ("2.5.4.45", "x500UniqueIdentifier"),
    ("2.5.4.46", "dnQualifier"),
    ("2.5.4.65", "pseudonym"),
    ("2.5.4.97", "organizationIdentifier"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("1.2.840.113549.1.9.2", "unstructuredName"),
    ("1.3.6.1.4.1.311.60.2.1.1", "jurisdictionL"),
    ("1.3.6.1.4.1.311.60.2.1.2", "jurisdictionST"),
    ("1.3.6.1.4.1.311.60.2.1.3", "jurisdictionC"),
];

/// Reads a certificate; `None` where it is none.
pub(super) fn parse(der: &[u8]) -> Option<Certificate> {
    Certificate::from_der(der).ok()
}

/// A name as `X509_NAME_oneline` of OpenSSL 3 writes it, which is how accounts quote it: `/C=SE/O=Example/CN=client`.
pub(super) fn one_line(name: &Name) -> String {
    let mut line = String::new();
    for part in &name.0 {
        for (i, attribute) in part.0.iter().enumerate() {
            let oid = attribute.oid.to_string();
            let short = SHORT.iter().find(|(dotted, _)| *dotted == oid);
            line.push(if i == 0 { '/' } else { '+' });
            line.push_str(short.map_or(oid.as_str(), |(_, short)| short));
            line.push('=');
            for &byte in attribute.value.value() {
                match byte {
                    b'/' | b'+' => line.extend(['\\', char::from(byte)]),
                    b' '..=b'~' => line.push(char::from(byte)),
                    _ => line.push_str(&format!("\\x{byte:02X}")),
                }
            }
        }
    }
    line
}

/// A time as OpenSSL prints it: `Nov  5 07:45:28 2026 GMT`.
pub(super) fn time(at: &Time) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let at = at.to_date_time();
    format!(
        "{} {:2} {:02}:{:02}:{:02} {} GMT",
        MONTHS
            .get(usize::from(at.month()).wrapping_sub(1))
            .unwrap_or(&"Bad"),
        at.day(),
        at.hour(),
        at.minutes(),
        at.seconds(),
        at.year()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by OpenSSL 3.0, with the output of its `X509_NAME_oneline` and `ASN1_TIME_print` beside it.
    const PEM: &str = include_str!("testdata/names.pem");

    #[test]
    fn names_and_times_as_openssl_writes_them() {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        let der = CertificateDer::from_pem_slice(PEM.as_bytes()).expect("a certificate");
        let certificate = parse(&der).expect("it is read").tbs_certificate;
        let expected = include_str!("testdata/names.txt");
        let mut lines = expected.lines();
        assert_eq!(lines.next(), Some(one_line(&certificate.subject).as_str()));
        let validity = &certificate.validity;
        assert_eq!(lines.next(), Some(time(&validity.not_before).as_str()));
        assert_eq!(lines.next(), Some(time(&validity.not_after).as_str()));
        assert!(parse(b"\x30\x03\x02\x01\x01").is_none());
    }
}
