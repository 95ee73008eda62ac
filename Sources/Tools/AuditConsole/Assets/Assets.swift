import HTTP
import OpenSSL

/// A file that the pages load.
///
/// Its name contains its hash, so that browsers may cache it without limit.
struct Asset: Sendable {
    let name: String
    let contentType: String
    let body: [UInt8]

    init(_ stem: String, _ ending: String, contentType: String, body: [UInt8]) {
        self.body = body
        name = "\(stem)-\(SHA256.digest(body).hex.prefix(16)).\(ending)"
        self.contentType = contentType
    }

    var link: LocalLink { LocalLink("assets", name) }
}

/// All files that the pages load; nothing comes from another server.
///
/// The files of this folder are part of the program: the package's build embeds their bytes as
/// `PackageResources`, so that nothing is read while it runs.
enum Assets {
    static let stylesheet = Asset(
        "console", "css", contentType: "text/css; charset=utf-8", body: PackageResources.console_css)
    static let script = Asset(
        "console", "js", contentType: "text/javascript; charset=utf-8", body: PackageResources.console_js)
    static let icon = Asset("icon", "svg", contentType: "image/svg+xml", body: PackageResources.icon_svg)

    /// The files by name, the only ones that a path can request.
    static let byName = Dictionary(
        [stylesheet, script, icon].map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    static func response(_ name: String) -> HTTPResponse? {
        byName[name].map { asset in
            HTTPResponse(
                contentType: asset.contentType, headers: ["Cache-Control": "public, max-age=31536000, immutable"],
                body: asset.body)
        }
    }
}
