import OpenSSL
import Synchronization
import Threads

/// Compares passwords one after the other on a thread of its own: a hash takes half a second and 64
/// MiB, and a flood of sign-ins must not take either twice at once.
///
/// The queue is bounded: every attempt in it holds one of the server's answers
/// (`HTTPLimits.answersMax`), which the pages of signed-in users need as well.
actor PasswordCheck {
    /// The attempts in the queue and the running one; a sixth of the server's answers or less.
    static let attemptsMax = 5

    private let attempts = Mutex(0)
    private let executor = ThreadExecutor(name: "passwords")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Takes a slot of the queue while `body` runs.
    ///
    /// - Returns: nil, without a call of `body`, if the queue is full.
    nonisolated func withPlace<Result>(_ body: () async -> Result) async -> Result? {
        let hasPlace = attempts.withLock { count in
            guard count < Self.attemptsMax else { return false }
            count += 1
            return true
        }
        guard hasPlace else { return nil }
        defer { attempts.withLock { $0 -= 1 } }
        return await body()
    }

    /// The user with this name and password.
    ///
    /// An unknown user costs as much as a known one.
    ///
    /// - Parameter users: all users of the file.
    /// - Returns: nil for a wrong name, a wrong password, or if memory is lacking.
    func user(_ name: String, _ password: String, among users: [String: PasswordFile.User]) -> PasswordFile.User? {
        guard password.utf8.count <= PasswordHash.passwordBytesMax else { return nil }
        let known = users[name]
        let dearest = users.values.max { $0.hash.parameters.cost < $1.hash.parameters.cost }
        guard let hash = known?.hash ?? dearest?.hash.decoy else { return nil }
        let isRight = hash.matches(password) ?? false
        return isRight ? known : nil
    }
}
