import Foundation
import Platform
import Testing

/// Foundation's answers to the same questions are what these are compared with.
struct ProcessEnvironmentTests {
    @Test func `variables are those of the process`() {
        #expect(!ProcessEnvironment.variables.isEmpty)
        #expect(ProcessEnvironment.variables == ProcessInfo.processInfo.environment)
    }

    @Test func `a value may hold any sign, and of a name given twice the first counts`() {
        let entries = ["A=a=b=ü\n", "EMPTY=", "ACCENT=\u{301}", "TWICE=1", "TWICE=2", "=C", "NONE"]
        let expected = ["A": "a=b=ü\n", "EMPTY": "", "ACCENT": "\u{301}", "TWICE": "1"]
        #expect(ProcessEnvironment.variables(entries) == expected)
    }

    @Test func `the executable, the machine and the process are named`() {
        let process = ProcessInfo.processInfo
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(ProcessEnvironment.executable == link)
        #expect(ProcessEnvironment.hostName == process.hostName)
        #expect(ProcessEnvironment.processID == process.processIdentifier)
    }

    @Test func `the time of day is in milliseconds since 1970`() {
        let before = Int64(Date.now.timeIntervalSince1970 * 1_000)
        let now = WallClock.milliseconds
        let after = Int64(Date.now.timeIntervalSince1970 * 1_000)
        #expect(before - 1 <= now && now <= after + 1)
    }

    @Test(arguments: ["", "s", "sasl", "word", "password", "sasl.password", "ü"])
    func `a text is found wherever it stands`(_ part: String) {
        #expect("sasl.password".includes(part) == (part != "ü"))
        #expect(!"".includes("a"))
        #expect("aab".includes("ab"))
        #expect(!"ab".includes("abc"))
    }
}
