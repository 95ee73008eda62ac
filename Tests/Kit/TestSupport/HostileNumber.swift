/// Numbers at the ends of their type, as a writer of a record, a commit or a file may send them.
package enum HostileNumber { package static let all: [Int64] = [.min, .min + 1, -1, 0, .max - 1, .max] }
