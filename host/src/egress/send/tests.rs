use super::*;

#[test]
fn a_rule_of_connect_to_moves_the_connection_and_tells_the_host_meant() {
    let rule = ("ignored".to_owned(), "127.0.0.1:9999".parse().unwrap());
    for (url, dialled, host) in [
        (
            "http://169.254.169.254/latest",
            "http://127.0.0.1:9999/latest",
            "169.254.169.254",
        ),
        (
            "http://169.254.169.254:8080/x",
            "http://127.0.0.1:9999/x",
            "169.254.169.254:8080",
        ),
        (
            "http://[fd00:ec2::254]/x",
            "http://127.0.0.1:9999/x",
            "[fd00:ec2::254]",
        ),
        (
            "https://a.example/x?y",
            "https://a.example/x?y",
            "a.example",
        ),
        (
            "https://a.example:8443/x",
            "https://a.example/x",
            "a.example:8443",
        ),
    ] {
        let mut headers = HeaderMap::new();
        let moved = addressed(&url.parse().unwrap(), &mut headers, Some(&rule)).unwrap();
        assert_eq!(moved.as_str(), dialled, "{url}");
        assert_eq!(headers["host"], host, "{url}");
    }
    let mut headers = HeaderMap::new();
    let url: Url = "https://a.example:8443/x".parse().unwrap();
    assert_eq!(addressed(&url, &mut headers, None).unwrap(), url);
    assert!(headers.is_empty());
}
