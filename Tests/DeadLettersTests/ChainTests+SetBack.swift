import AppStore
import Testing

@testable import DeadLetters

extension ChainTests {
    @Test("a group that was set back restarts its chain, and repeated letters are copies") func setBack() throws {
        var chain = Chain([3, 5, 8, 13])
        chain.append(8, after: .some(nil))
        chain.append(13)
        chain.append(21)
        let report = try chain.reportWithHead(counted: 3)
        #expect(Self.kinds(report) == ["restarted"])
        #expect(report.chains.first?.letters == 5)
        #expect(report.chains.first?.repeated == 2)
    }

    @Test("a group that was set back to the beginning has no finding") func setBackToTheBeginning() throws {
        var chain = Chain([3, 5])
        chain.append(3, after: .some(nil), reason: .bundleMismatch)
        for offset: Int64 in [5, 8] { chain.append(offset) }
        let report = try chain.reportWithHead(counted: 3)
        #expect(report.findings.isEmpty)
    }

    @Test(
        "letters before a group's first count are a chain of their own, others are outside",
        arguments: [
            (began: Int64(6), kinds: ["restarted"], letters: 2), (began: 0, kinds: ["fork", "inserted"], letters: 0),
        ]) func refusedNothingSince(began: Int64, kinds: [String], letters: Int) throws
    {
        let report = try Chain([3, 5]).report { evidence in
            evidence.heads[Chain.name] = ChainHead(digest: nil, counted: 0, offset: 20, records: 20 - began)
        }
        #expect(Self.kinds(report) == kinds)
        #expect(report.chains.first?.letters == letters)
    }
}
