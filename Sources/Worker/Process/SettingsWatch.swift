import Foundation
import OpenSSL
import Settings
import Synchronization

/// Has the settings read again when somebody asks for it or a file has come to hold something else.
///
/// Files are compared by what they hold, at an interval: that notices a file that was replaced,
/// a symlink with a new target (as a Kubernetes volume has them) and a file system without events.
final class SettingsWatch: Sendable {
    private typealias Contents = [String: SHA256Digest?]

    private let reload: SettingsReload
    private let interval: Duration
    private let bell = Doorbell()
    private let isAsked = Atomic(false)
    /// What the settings in force were read from.
    private let known: Mutex<Contents>

    /// Takes what the files hold now for what the present settings were read from.
    init(_ reload: SettingsReload, interval: Duration) {
        self.reload = reload
        self.interval = interval
        known = Mutex(Self.contents(of: reload.files))
    }

    /// Has the settings read again at once.
    ///
    /// From any thread.
    func ask() {
        isAsked.store(true, ordering: .releasing)
        bell.ring()
    }

    /// Watches until cancelled.
    func run() async {
        var last = known.withLock { $0 }
        while !Task.isCancelled {
            await bell.wait(for: interval)
            let isAsked = isAsked.exchange(false, ordering: .acquiringAndReleasing)
            let now = Self.contents(of: reload.files)
            // A file that is still being written is left alone until it stays as it is.
            let isChanged = now == last && now != known.withLock { $0 }
            last = now
            guard isAsked || isChanged || reload.isRefused else { continue }
            reload.attempt(isAsked: isAsked)
            let after = now.merging(Self.contents(of: reload.files)) { former, _ in former }
            last = after.filter { reload.files.contains($0.key) }
            known.withLock { [last] in $0 = last }
        }
    }

    private static func contents(of files: [String]) -> Contents {
        Dictionary(
            files.map { ($0, FileBytes.read($0).map { SHA256.digest($0) }) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
