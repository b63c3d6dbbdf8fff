use std::process::Command;

use tonic::transport::server::ServerTlsConfig;

use super::*;
use crate::{Certificate, ClientTlsConfig, Error, Identity};

/// A certificate for `guard.test` that vouches for itself, with its key.
fn certificate() -> (String, String) {
    let folder = std::env::temp_dir().join(format!("loopguard-{}-{}", std::process::id(), fastrand::u64(..)));
    std::fs::create_dir(&folder).unwrap();
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=guard.test", "-addext", "subjectAltName=DNS:guard.test"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout".as_ref(), key.as_os_str(), "-out".as_ref(), cert.as_os_str()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let pair = (std::fs::read_to_string(cert).unwrap(), std::fs::read_to_string(key).unwrap());
    std::fs::remove_dir_all(folder).unwrap();
    pair
}

#[test]
fn a_token_travels_over_tls() {
    within(async {
        let (cert, key) = certificate();
        let identity = Identity::from_pem(&cert, &key);
        let guard = FakeGuard::serve(Some(ServerTlsConfig::new().identity(identity))).await;
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&cert)).domain_name("guard.test");
        let run = open(patient(&guard).token("secret").tls(tls)).await;
        step(&run).await;
        assert_eq!(run.decided_unavailable(), 0);
        assert_eq!(guard.state().metadata[0].get("authorization").unwrap(), "Bearer secret");
    });
}

#[test]
fn a_client_that_can_not_be_set_up_is_an_error() {
    for address in ["", "host", "host:port", "http://", "a b:1", "host:70000"] {
        assert!(matches!(Client::new(address), Err(Error::Setup(_))), "{address}");
    }
    let with_token = |address: &str, token: &str| Client::builder(address).token(token).build();
    for address in ["guard.test:50051", "http://guard.test:50051", "10.0.0.1:1", "localhost.guard.test:1"] {
        let Err(Error::Setup(message)) = with_token(address, "secret") else { panic!("{address} was taken") };
        assert!(message.contains("in the open"), "{message}");
    }
    for address in ["localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/run/guard", "https://guard.test:1"] {
        assert!(with_token(address, "secret").is_ok(), "{address}");
    }
    assert!(matches!(with_token("localhost:1", "a\nb"), Err(Error::Setup(_))));
}
