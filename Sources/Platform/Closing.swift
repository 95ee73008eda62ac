extension Result where Failure == any Error {
    /// The outcome of `body`.
    package init(of body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

/// Runs `body`, then `close`, however `body` ends: in Swift 6.3 a `defer` cannot `await`.
package func closing<Value>(
    by close: () async -> Void,
    after body: () async throws -> Value
) async throws -> Value {
    let result = await Result(of: body)
    await close()
    return try result.get()
}
