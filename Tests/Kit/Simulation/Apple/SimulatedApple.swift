import Foundation
import JSON
import OpenSSL

/// Apple's simulated server for the Production apps of some traffic, and the settings of a
/// recovery-worker that asks it.
///
/// It listens from the end of `init` until `stop()`, which has to be called.
package final class SimulatedApple: Sendable {
    package static let keyID = "KEY1"

    package let server: AppleServer
    /// The settings, by environment name.
    package let environment: [String: String]
    private let bundleIDs: Set<String>
    private let folder: String

    /// - Parameters:
    ///   - apps: the apps that are asked about, of Production.
    ///   - setsAccountTokens: whether Apple gets account tokens.
    package init(_ world: AppleWorld, apps: [DemoApp], setsAccountTokens: Bool = false) throws {
        server = try AppleServer(world)
        folder = NSTemporaryDirectory() + "apple-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try? ProcessWatchdog.shared.guardFolder(folder)
        try server.rootPEM.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
        bundleIDs = Set(apps.map(\.bundleID))
        let entries = apps.map { [folder] app in
            """
            {"bundle_id":"\(app.bundleID)","environment":"\(app.environment)",\
            "app_apple_id":\(app.appAppleID),"api_issuer_id":"issuer",\
            "api_key_id":"\(Self.keyID)","api_key_file":"\(folder)/key.p8",\
            "set_account_token":\(setsAccountTokens)}
            """
        }
        environment = [
            "APPS": "[\(entries.joined(separator: ","))]", "RECOVERY_BASE_URL": server.baseURL,
            "RECOVERY_CA_FILE": "\(folder)/ca.pem", "RECOVERY_RATE_SHARE": "100",
        ]
        try replaceKey()
    }

    /// Lists all that Apple has signed of the traffic.
    package convenience init(_ traffic: DemoTraffic) throws {
        let world = AppleWorld(authority: traffic.authority)
        world.add(traffic)
        let apps = traffic.apps.filter { $0.environment == DemoTraffic.listedEnvironment }
        try self.init(world, apps: apps)
    }

    /// Writes a new key to the file and registers it, in place of an earlier one.
    package func replaceKey() throws {
        let key = try PrivateKey.generate(.p256)
        server.register(try AppleAPIKey(id: Self.keyID, issuerID: "issuer", bundleIDs: bundleIDs, key: key))
        try key.pem.write(toFile: "\(folder)/key.p8", atomically: true, encoding: .utf8)
    }

    package func stop() {
        server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}

extension DemoTraffic {
    fileprivate static let listedEnvironment = "Production"

    /// Every third genuine notification that Apple's server still lists, as if the ingestion
    /// service had lost it.
    ///
    /// - Parameter now: in milliseconds since 1970.
    /// - Returns: indices of items.
    package func lostNotifications(now: Int64) -> Set<Int> {
        let listed = items.indices.filter { index in
            guard items[index].expectedRefusal == nil, let value = items[index].value,
                let token = try? JSONDocument(parsing: value).root["signedPayload"]?.stringBytes,
                let payload = UnverifiedJWS(token)?.payload, let signedDate = payload["signedDate"]?.int64
            else { return false }
            return payload["data"]?["environment"]?.isString(Self.listedEnvironment) == true
                && signedDate > now - Self.listedMilliseconds
        }
        return Set(stride(from: 0, to: listed.count, by: 3).map { listed[$0] })
    }

    /// Apple lists 180 days; a run takes less than the rest.
    private static let listedMilliseconds: Int64 = 178 * 86_400_000
}
