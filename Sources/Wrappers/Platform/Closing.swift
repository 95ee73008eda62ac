extension Result where Failure == any Error {
    /// The outcome of `body`.
    package init(of body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// Runs `body`, then `close`, even if `body` throws: in Swift 6.3 a `defer` cannot `await`.
///
/// Throws the error of `body`, or the error of `close` if `body` succeeded.
package func closing<Value>(by close: () async throws -> Void, after body: () async throws -> Value) async throws
    -> Value
{
    let result = await Result(of: body)
    do { try await close() } catch {
        _ = try result.get()
        throw error
    }
    return try result.get()
}
