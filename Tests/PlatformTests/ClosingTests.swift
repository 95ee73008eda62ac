import Platform
import Testing

struct ClosingTests {
    private enum Failure: Error {
        case body
        case close
    }

    @Test func `a failure to close after success is an error`() async {
        await #expect(throws: Failure.close) {
            try await closing {
                throw Failure.close
            } after: {
            }
        }
    }

    @Test func `the body's error counts if closing fails too`() async {
        await #expect(throws: Failure.body) {
            try await closing {
                throw Failure.close
            } after: {
                throw Failure.body
            }
        }
    }
}
