import AppStore
import AppStoreServer
import OpenSSL
import Settings
import Store
import Synchronization
import Telemetry

/// The App Store Server API client of one app; its key file may be replaced at any time.
final class APIAccess: Sendable {
    let app: RecoveredApp
    let api: AppStoreServerAPI
    /// Whether Apple gets account tokens of this app's users.
    let setsAccountTokens: Bool
    let replies: RefundReplies
    private let setting: APIKeySetting
    /// The contents of the key file when it was last read; the file may have held no valid key.
    private let contents: Mutex<[UInt8]?>

    /// - Parameter make: creates the client for credentials.
    init(
        _ app: RecoveredApp, _ setting: APIKeySetting, setsAccountTokens: Bool, replies: RefundReplies,
        make: (APICredentials) throws -> AppStoreServerAPI
    ) throws {
        self.app = app
        self.setsAccountTokens = setsAccountTokens
        self.replies = replies
        self.setting = setting
        let file = FileBytes.read(setting.keyFile) ?? []
        api = try make(try APICredentials(app, setting, keyFile: file))
        contents = Mutex(file)
    }

    /// Uses the key of a changed file; if the file holds no valid key, the former key stays in use.
    ///
    /// - Returns: whether a new key is in use.
    func refresh(_ log: Log) -> Bool {
        let file = FileBytes.read(setting.keyFile)
        let isChanged = contents.withLock { contents in
            guard contents != file else { return false }
            contents = file
            return true
        }
        guard isChanged else { return false }
        do {
            api.replace(try APICredentials(app, setting, keyFile: file ?? []))
            log.notice("key replaced", ["app.bundle_id": .string(app.bundleID.text)])
            return true
        } catch {
            log.error(
                "key file invalid, former key stays in use",
                ["file": .string(setting.keyFile), "error": .string("\(error)")])
            return false
        }
    }
}

extension APICredentials {
    fileprivate init(_ app: RecoveredApp, _ setting: APIKeySetting, keyFile: [UInt8]) throws(KeyError) {
        try self.init(
            bundleID: app.bundleID, environment: app.environment, issuerID: setting.issuerID, keyID: setting.keyID,
            keyFile: keyFile)
    }
}
