//! A login: the handshake response, and whatever follows until the server has made up its mind.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use wire::PacketWriter;
use wire::auth::{AuthContext, Authenticator, Credential, Plugin, Step};
use wire::handshake::{ChangeUser, ClientHello, Nonce};

static CONTEXT: LazyLock<AuthContext> = LazyLock::new(AuthContext::default);
static SHA2: LazyLock<Credential> = LazyLock::new(|| {
    Credential::caching_sha2_salted(b"secret", &[b'x'; 20]).expect("a short password")
});

fuzz_target!(|data: &[u8]| {
    let Some((&[how, cut], bytes)) = data.split_first_chunk() else {
        return;
    };
    let (hello, rest) = bytes.split_at(bytes.len().min(usize::from(cut) * 2));
    if let Ok(user) = ChangeUser::parse(hello, wire::capability::SERVER) {
        user.attributes.iter().for_each(drop);
    }
    let Ok(ClientHello::Login(login)) = ClientHello::parse(hello, wire::capability::SERVER) else {
        return;
    };
    login.attributes.iter().for_each(drop);
    let credential = match how & 3 {
        0 => Credential::native(b"secret"),
        1 => Credential::Empty,
        2 => Credential::Denied,
        _ => SHA2.clone(),
    };
    let plugin = if how & 8 == 0 {
        Plugin::Sha2
    } else {
        Plugin::Native
    };
    let mut writer = PacketWriter::new();
    let nonce = Nonce::from_random([7; 20]);
    let mut machine = Authenticator::new(nonce, plugin, credential, how & 4 != 0);
    let mut step = machine.start(
        &CONTEXT,
        login.auth_plugin,
        login.auth_response,
        &mut writer,
    );
    for packet in rest.chunks(64) {
        if step != Step::NeedMore {
            break;
        }
        step = machine.resume(&CONTEXT, packet, &mut writer);
    }
    assert!(
        step != Step::Ok || how & 3 != 2,
        "a denied account was let in"
    );
});
