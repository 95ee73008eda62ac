import AppStore
package import JSON

extension JSONWriter {
    package mutating func member(_ key: StaticString, _ text: String?) {
        self.key(key)
        if let text {
            string(text)
        } else {
            null()
        }
    }

    mutating func member(_ key: StaticString, _ identifier: Identifier?) {
        member(key, identifier?.text)
    }

    package mutating func member(_ key: StaticString, _ number: some BinaryInteger) {
        self.key(key)
        int(number)
    }

    package mutating func member(_ key: StaticString, _ truth: Bool) {
        self.key(key)
        bool(truth)
    }

    package mutating func strings(_ texts: [String]) {
        array { writer in
            for text in texts {
                writer.string(text)
            }
        }
    }
}
