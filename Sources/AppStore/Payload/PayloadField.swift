/// The members of one kind of payload that are read; the raw value is Apple's name.
protocol PayloadField: RawRepresentable<String>, CaseIterable, Sendable {}
