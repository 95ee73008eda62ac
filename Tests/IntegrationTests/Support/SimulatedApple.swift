import Foundation
import OpenSSL
import Simulation
import TestSupport

/// Apple's simulated server for the Production apps of some traffic, and the settings of a
/// recovery-worker that asks it.
final class SimulatedApple: Sendable {
    static let keyID = "KEY1"

    let server: AppleServer
    let environment: [String: String]
    private let bundleIDs: Set<String>
    private let folder: String

    init(_ traffic: DemoTraffic) throws {
        let world = try AppleWorld(authority: traffic.authority)
        world.add(traffic)
        server = try AppleServer(world)
        folder = NSTemporaryDirectory() + "apple-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try server.rootPEM.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
        let apps = traffic.apps.filter { $0.environment == "Production" }
        bundleIDs = Set(apps.map(\.bundleID))
        let entries = apps.map { [folder] app in
            """
            {"bundle_id":"\(app.bundleID)","environment":"Production",\
            "app_apple_id":\(app.appAppleID),"api_issuer_id":"issuer",\
            "api_key_id":"\(Self.keyID)","api_key_file":"\(folder)/key.p8"}
            """
        }
        environment = [
            "APPS": "[\(entries.joined(separator: ","))]", "RECOVERY_BASE_URL": server.baseURL,
            "RECOVERY_CA_FILE": "\(folder)/ca.pem", "RECOVERY_RATE_SHARE": "100",
        ]
        try replaceKey()
    }

    /// Writes a new key to the file and registers it, in place of an earlier one.
    func replaceKey() throws {
        let key = try PrivateKey.generate(.p256)
        server.register(
            try AppleAPIKey(id: Self.keyID, issuerID: "issuer", bundleIDs: bundleIDs, key: key)
        )
        try key.pem.write(toFile: "\(folder)/key.p8", atomically: true, encoding: .utf8)
    }

    func stop() {
        server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
