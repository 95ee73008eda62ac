import HTTP
import OpenSSL

/// A file that the pages load: its name holds its hash, so that browsers may keep it forever.
struct Asset: Sendable {
    let name: String
    let contentType: String
    let body: [UInt8]

    init(_ stem: String, _ ending: String, contentType: String, _ text: String) {
        body = Array(text.utf8)
        name = "\(stem)-\(SHA256.digest(body).hex.prefix(16)).\(ending)"
        self.contentType = contentType
    }

    var link: LocalLink { LocalLink("assets", name) }
}

/// All files that the pages load; nothing comes from another server, and nothing from a file.
enum Assets {
    static let stylesheet = Asset(
        "console",
        "css",
        contentType: "text/css; charset=utf-8",
        Stylesheet.text
    )
    static let script = Asset(
        "console",
        "js",
        contentType: "text/javascript; charset=utf-8",
        Script.text
    )
    static let icon = Asset("icon", "svg", contentType: "image/svg+xml", iconText)

    private static let iconText = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" \
        rx="7" fill="#0b5fa5"/><path d="M6 10h20v13H6z M6 10l10 8 10-8" fill="none" \
        stroke="#fff" stroke-width="2.4" stroke-linejoin="round"/></svg>
        """

    /// By name: a path can ask for these and for nothing else.
    static let byName = Dictionary(
        [stylesheet, script, icon].map { ($0.name, $0) },
        uniquingKeysWith: { first, _ in first }
    )

    static func response(_ name: String) -> HTTPResponse? {
        byName[name].map { asset in
            HTTPResponse(
                contentType: asset.contentType,
                headers: ["Cache-Control": "public, max-age=31536000, immutable"],
                body: asset.body
            )
        }
    }
}
