import Curl
import Testing

struct HTTPSAddressTests {
    @Test(arguments: [
        ("https://localhost", "https://localhost", true), ("HTTPS://LocalHost:8443/", "https://localhost:8443", true),
        ("https://127.0.0.1:1", "https://127.0.0.1:1", true), ("https://127.1:1", "https://127.0.0.1:1", true),
        ("https://[::1]:1", "https://[::1]:1", true), ("https://api.example.com", "https://api.example.com", false),
        ("https://127.0.0.1.example.com", "https://127.0.0.1.example.com", false),
        ("https://localhost.example.com", "https://localhost.example.com", false),
        ("https://127.0.0", "https://127.0.0.0", true), ("https://128.0.0.1", "https://128.0.0.1", false),
        ("https://[::2]", "https://[::2]", false), ("https://localhost.", "https://localhost.", false),
    ]) func `a server's URL is read as libcurl connects`(text: String, url: String, isLoopback: Bool) throws {
        let address = try #require(HTTPSAddress(url: text))
        #expect(address.url == url)
        #expect(address.isLoopback == isLoopback)
    }

    @Test(arguments: [
        "", "localhost", "http://localhost", "https://user@localhost", "https://localhost/path",
        "https://user:password@localhost", "https://localhost?a", "https://localhost#a", "https://localhost:0x1",
        "https://localhost:65536", "https://", "https://local host", "https://example.com@localhost",
        "https://localhost@example.com", "file:///etc/passwd",
    ]) func `a URL of anything else is refused`(text: String) { #expect(HTTPSAddress(url: text) == nil) }
}
