/// What is worth saying about a reading beside its result.
enum ReadingNotes {
    static func text<Part>(_ summary: DeadLetterTopic.Summary, _ fold: DeadLetterFold<Part>)
        -> String
    {
        var text = ""
        if fold.repetitions > 0 {
            text += ", \(fold.repetitions) repetitions folded"
        }
        if summary.foreign > 0 {
            text += ", \(summary.foreign) records that are no dead letters"
        }
        if !fold.isComplete {
            text += "; too many to fold them all, so that some may count twice: narrow --since"
        }
        return text
    }
}
