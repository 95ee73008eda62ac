import Foundation
import Testing

/// Programs, image and manifests have one version, and `deploy/CHANGES.md` begins with it.
@Suite struct ReleaseTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8)
    }

    private static let version = Result {
        let match = try text("Sources/Wrappers/Release/Release.swift").firstMatch(
            of: /static let version = "(\d+\.\d+\.\d+)"/)
        return try #require(match.map { String($0.1) })
    }

    @Test func `image and manifests have the programs' version`() throws {
        let version = try Self.version.get()
        let overlays = "deploy/kubernetes/overlays"
        let tags = [
            "deploy/README.md": 1, "deploy/compose.yaml": 1, "deploy/container/Containerfile": 2,
            "deploy/container/try.sh": 2, "\(overlays)/production/kustomization.yaml": 1,
            "\(overlays)/trial/kustomization.yaml": 1,
        ]
        let pattern = /(?:entitlement-pipeline:|newTag: "|image\.version=)(\d[\w.]*\d|latest)/
        for (path, count) in tags {
            let found = try Self.text(path).matches(of: pattern).map { String($0.1) }
            #expect(found == Array(repeating: version, count: count), "\(path)")
        }
    }

    @Test func `the changes begin with this version`() throws {
        let headings = try Self.text("deploy/CHANGES.md").matches(of: /\n## (\S+)/)
        #expect(try headings.first.map { String($0.1) } == Self.version.get())
    }
}
