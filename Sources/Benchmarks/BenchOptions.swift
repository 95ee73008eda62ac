import Settings

/// Numbers on the command line of the measurements.
enum BenchOptions {
    static func number(
        _ options: CommandArguments,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(UsageError) -> Int? {
        guard let text = options.value(name) else { return nil }
        return try number(text, name, in: range)
    }

    /// Several, with commas between.
    static func numbers(
        _ options: CommandArguments,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(UsageError) -> [Int]? {
        guard let text = options.value(name) else { return nil }
        var numbers: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            numbers.append(try number(String(part), name, in: range))
        }
        return numbers
    }

    private static func number(
        _ text: String,
        _ name: String,
        in range: ClosedRange<Int>
    ) throws(UsageError) -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw UsageError(
                "--\(name): expected \(range.lowerBound) to \(range.upperBound), found \"\(text)\""
            )
        }
        return value
    }
}
