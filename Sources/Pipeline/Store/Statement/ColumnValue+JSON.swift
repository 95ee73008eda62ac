import AppStore
package import JSON
package import Postgres

extension StoredTime: JSONRepresentable { package var json: JSONContent { Timestamp(self).json } }

extension PostgresPeriod: JSONRepresentable {
    /// The half-open period; an open end is null.
    package var json: JSONContent {
        [
            "start": Timestamp(milliseconds: startMilliseconds),
            "end": endMilliseconds.map { Timestamp(milliseconds: $0) },
        ]
    }
}
