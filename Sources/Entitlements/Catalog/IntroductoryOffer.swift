/// What a subscription offers to those who are new to its group; it decides nothing here.
package struct IntroductoryOffer: Hashable, Sendable {
    package enum Mode: String, CaseIterable, Sendable {
        case freeTrial = "free-trial"
        case payAsYouGo = "pay-as-you-go"
        case payUpFront = "pay-up-front"
    }

    package var mode: Mode
    package var period: CalendarPeriod
    /// How many periods it lasts.
    package var count: Int

    package init(mode: Mode, period: CalendarPeriod, count: Int = 1) {
        self.mode = mode
        self.period = period
        self.count = count
    }
}
