import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Threads

@Suite(.hopeless) struct ConditionTests {
    @Test func `who waits goes on when what it waits for is there`() async {
        let condition = Condition()
        let count = Mutex(0)
        await withCheckedContinuation { continuation in
            _ = OwnThread.start(name: "waits", stackBytes: 1 << 16) {
                condition.withLock { while count.withLock({ $0 }) < 2 { condition.wait() } }
                continuation.resume()
            }
            for _ in 0..<2 {
                condition.withLock {
                    count.withLock { $0 += 1 }
                    condition.broadcast()
                }
            }
        }
        #expect(count.withLock { $0 } == 2)
    }

    @Test(arguments: [Duration.milliseconds(30), .nanoseconds(1), .zero, .seconds(-5)])
    func `a wait ends at its limit, and not before`(_ limit: Duration) {
        let condition = Condition()
        let began = ContinuousClock.now
        condition.withLock {
            // One that ends early, as the system allows, is begun again.
            while ContinuousClock.now - began < limit { condition.wait(atMost: limit - (ContinuousClock.now - began)) }
        }
        #expect(ContinuousClock.now - began >= limit)
        #expect(ContinuousClock.now - began < limit + .hopeless)
    }

    @Test func `a limit beyond the range of the clock does not overflow`() async {
        let condition = Condition()
        let isDone = Mutex(false)
        await withCheckedContinuation { continuation in
            _ = OwnThread.start(name: "waits", stackBytes: 1 << 16) {
                condition.withLock { while !isDone.withLock({ $0 }) { condition.wait(atMost: .seconds(Int64.max)) } }
                continuation.resume()
            }
            condition.withLock {
                isDone.withLock { $0 = true }
                condition.signal()
            }
        }
    }
}

@Suite(.hopeless) struct OwnThreadTests {
    @Test func `it has its name, cut to what the kernel keeps, and its own number`() async {
        let (name, number) = await withCheckedContinuation { continuation in
            _ = OwnThread.start(name: "a-name-of-more-than-fifteen", stackBytes: 1 << 18) {
                let file = URL(filePath: "/proc/thread-self/comm")
                let name = (try? Data(contentsOf: file)).map { String(decoding: $0, as: UTF8.self) }
                continuation.resume(returning: (name, OwnThread.current))
            }
        }
        #expect(name == "a-name-of-more-\n")
        #expect(number != OwnThread.current)
    }

    @Test func `an executor runs what comes after its end too, in order`() async {
        let recorder = Recorder()
        for number in 0..<10 { await recorder.add(number) }
        await recorder.stop()
        for number in 10..<20 { await recorder.add(number) }
        #expect(await recorder.numbers == Array(0..<20))
    }
}

private actor Recorder {
    private let executor = ThreadExecutor(name: "recorder")
    private(set) var numbers: [Int] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func add(_ number: Int) {
        executor.checkIsolated()
        numbers.append(number)
    }

    nonisolated func stop() async { executor.stop() }
}
