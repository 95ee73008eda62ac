/// The one stylesheet: colours as variables, light first, dark by the reader's preference.
enum Stylesheet {
    static let text = colours + frame + content + tables + forms + chart

    private static let colours = """
        :root {
          color-scheme: light dark;
          --ground: #f6f6f4; --surface: #ffffff; --sunken: #efeeeb;
          --ink: #1d1f23; --soft: #565b64; --line: #dcdad5; --strong-line: #8a8f98;
          --accent: #0b5fa5; --accent-ink: #ffffff; --accent-wash: #e5eff8;
          --bad: #a3241b; --bad-wash: #fbe9e7; --good: #1c6b3a; --good-wash: #e4f3e9;
          --warn: #7a4d00; --warn-wash: #fcf1db;
          --s0: #0b5fa5; --s1: #c2571a; --s2: #2f8f6b; --s3: #8a5fb0; --s4: #b08a12;
          --s5: #c24a7e; --s6: #8a8f98;
          --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #121418; --surface: #1a1d22; --sunken: #22262d;
            --ink: #e6e8ec; --soft: #a6adb8; --line: #30353d; --strong-line: #6f7885;
            --accent: #7db9f0; --accent-ink: #0d1f30; --accent-wash: #1b2f42;
            --bad: #ff9d92; --bad-wash: #3a201e; --good: #86d6a2; --good-wash: #1a3324;
            --warn: #f0c274; --warn-wash: #382c15;
            --s0: #5fa8e8; --s1: #ea8f57; --s2: #5fc29c; --s3: #b794d8; --s4: #d9b84a;
            --s5: #e886b0; --s6: #8a929e;
          }
        }
        """

    private static let frame = """

        *, *::before, *::after { box-sizing: border-box; }
        html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        body { margin: 0; background: var(--ground); color: var(--ink); font-size: .9375rem; }
        a { color: var(--accent); text-underline-offset: .15em; }
        a:hover { text-decoration-thickness: 2px; }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        main:focus { outline: none; }
        .skip { position: absolute; left: -100vw; top: .5rem; padding: .5rem 1rem;
          background: var(--surface); z-index: 9; }
        .skip:focus { left: .5rem; }
        .top { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.5rem;
          padding: .5rem clamp(1rem, 3vw, 3rem); background: var(--surface);
          border-bottom: 1px solid var(--line); }
        .brand { font-weight: 650; color: var(--ink); text-decoration: none;
          letter-spacing: -.01em; }
        .brand::before { content: ""; display: inline-block; width: .7em; height: .7em;
          margin-right: .5em; border-radius: 2px; background: var(--accent); }
        nav ul { display: flex; flex-wrap: wrap; gap: .125rem; list-style: none; margin: 0;
          padding: 0; }
        nav a { display: block; padding: .3rem .65rem; border-radius: 6px; color: var(--soft);
          text-decoration: none; }
        nav a:hover { background: var(--sunken); color: var(--ink); }
        nav a[aria-current] { background: var(--accent-wash); color: var(--accent);
          font-weight: 600; }
        .visitor { display: flex; align-items: center; gap: .6rem; margin-left: auto;
          min-width: 0; }
        .visitor .name { font-weight: 600; overflow-wrap: anywhere; }
        main { padding: 1.5rem clamp(1rem, 3vw, 3rem) 4rem; max-width: 120rem; margin: 0 auto; }
        @media (max-width: 40rem) {
          nav { order: 3; width: 100%; margin: 0 -.5rem; }
          nav a { padding: .35rem .5rem; }
          main { padding-top: 1rem; }
        }
        """

    private static let content = """

        h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; letter-spacing: -.015em;
          overflow-wrap: anywhere; }
        h2 { font-size: 1.0625rem; margin: 2rem 0 .5rem; letter-spacing: -.005em; }
        h3 { font-size: .9375rem; margin: 1.25rem 0 .25rem; }
        p { margin: 0 0 .75rem; max-width: 75ch; }
        .lead, .hint, .soft { color: var(--soft); }
        .lead { margin-bottom: 1.25rem; }
        .hint { font-size: .8125rem; margin: .2rem 0 0; }
        code, pre, .mono { font-family: var(--mono); font-size: .92em; }
        code { overflow-wrap: anywhere; }
        bdi { overflow-wrap: anywhere; }
        .cut { color: var(--soft); font-style: italic; }
        pre { margin: 0; padding: .75rem 1rem; background: var(--sunken); border-radius: 8px;
          white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8125rem; line-height: 1.45;
          max-height: 32rem; overflow-y: auto; }
        .card { background: var(--surface); border: 1px solid var(--line); border-radius: 10px;
          padding: 1rem 1.25rem; }
        .card > h2:first-child, .card > h3:first-child { margin-top: 0; }
        .cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit,
          minmax(min(100%, 15rem), 1fr)); margin: 1rem 0; }
        .figure b { display: block; font-size: 1.75rem; line-height: 1.2; font-weight: 620;
          letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
        .figure span { color: var(--soft); }
        .figure .label { display: block; font-size: .8125rem; margin-bottom: .15rem; }
        .columns { display: grid; gap: 1.5rem; align-items: start; }
        .columns > * { min-width: 0; }
        .card + .card { margin-top: 1rem; }
        .cards > .card { margin-top: 0; }
        @media (min-width: 70rem) {
          .columns { grid-template-columns: minmax(0, 2fr) minmax(20rem, 1fr); }
        }
        .tag { display: inline-block; padding: .05rem .5rem; border-radius: 99px;
          background: var(--sunken); color: var(--soft); font-size: .8125rem;
          white-space: nowrap; }
        .tag.open { background: var(--accent-wash); color: var(--accent); }
        .tag.forged, .tag.refused { background: var(--bad-wash); color: var(--bad); }
        .tag.replayed, .tag.accepted { background: var(--good-wash); color: var(--good); }
        .tag.conflict, .tag.stale { background: var(--warn-wash); color: var(--warn); }
        .alert { padding: .6rem .9rem; border-radius: 8px; background: var(--bad-wash);
          color: var(--bad); max-width: none; }
        .note { padding: .6rem .9rem; border-radius: 8px; background: var(--warn-wash);
          color: var(--warn); max-width: none; }
        .done { padding: .6rem .9rem; border-radius: 8px; background: var(--good-wash);
          color: var(--good); max-width: none; }
        dl.facts { display: grid; grid-template-columns: minmax(8rem, max-content) minmax(0, 1fr);
          gap: .3rem 1.25rem; margin: 0; }
        dl.facts dt { color: var(--soft); }
        dl.facts dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
        @media (max-width: 40rem) {
          dl.facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
          dl.facts dd { margin-bottom: .5rem; }
        }
        kbd { font-family: var(--mono); font-size: .8125rem; padding: .05rem .4rem;
          border: 1px solid var(--strong-line); border-radius: 4px; background: var(--surface); }
        .crumbs { color: var(--soft); font-size: .8125rem; margin-bottom: .25rem; }
        .actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
        """

    private static let tables = """

        .scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 10px;
          background: var(--surface); }
        table { border-collapse: collapse; width: 100%; font-size: .875rem;
          font-variant-numeric: tabular-nums; }
        caption { text-align: left; color: var(--soft); padding: .5rem .9rem;
          font-size: .8125rem; }
        th, td { text-align: left; vertical-align: top; padding: .42rem .9rem;
          border-bottom: 1px solid var(--line); }
        tbody tr:last-child > * { border-bottom: 0; }
        thead th { color: var(--soft); font-weight: 550; font-size: .8125rem; white-space: nowrap;
          background: var(--surface); }
        tbody th { font-weight: 500; }
        tbody tr:hover > *, tbody tr:focus-within > * { background: var(--accent-wash); }
        .number { text-align: right; white-space: nowrap; }
        .time { white-space: nowrap; }
        td, tbody th { max-width: 28rem; }
        td bdi, tbody th bdi { overflow-wrap: break-word; }
        td code, tbody th code { white-space: nowrap; }
        td code bdi { white-space: normal; }
        td.wide { min-width: 16rem; }
        .up { color: var(--bad); } .down { color: var(--good); }
        """

    private static let forms = """

        form { margin: 0; }
        .field { margin-bottom: .9rem; min-width: 0; }
        .field label, legend { display: block; font-size: .8125rem; font-weight: 550;
          margin-bottom: .2rem; padding: 0; }
        input, select, textarea { font: inherit; color: var(--ink); width: 100%;
          background: var(--surface); border: 1px solid var(--strong-line); border-radius: 6px;
          padding: .4rem .6rem; }
        input[type=checkbox], input[type=radio] { width: auto; margin: 0 .4rem 0 0;
          accent-color: var(--accent); }
        .check { display: inline-flex; align-items: center; margin: 0 1rem .3rem 0; }
        fieldset { border: 0; margin: 0 0 .9rem; padding: 0; min-width: 0; }
        button, .button { font: inherit; font-weight: 550; padding: .4rem .95rem; cursor: pointer;
          border-radius: 6px; border: 1px solid var(--strong-line); background: var(--surface);
          color: var(--ink); text-decoration: none; display: inline-block; }
        button:hover, .button:hover { background: var(--sunken); }
        button.primary { background: var(--accent); border-color: var(--accent);
          color: var(--accent-ink); }
        button.primary:hover { filter: brightness(1.08); }
        button.quiet { border-color: transparent; background: none; color: var(--accent);
          padding: .2rem .4rem; font-weight: 450; text-decoration: underline; }
        button.copy { font-size: .75rem; padding: 0 .4rem; margin-left: .5rem; font-weight: 450;
          color: var(--soft); border-color: var(--line); }
        .filters { display: grid; gap: 0 1rem; grid-template-columns: repeat(auto-fill,
          minmax(min(100%, 12rem), 1fr)); }
        .filters .wide { grid-column: 1 / -1; }
        .sign-in { max-width: 24rem; margin: 8vh auto 0; padding: 1.5rem 1.75rem; }
        .sign-in h1 { margin-bottom: 1rem; }
        .sign-in button { width: 100%; padding: .5rem; }
        details > summary { cursor: pointer; color: var(--accent); padding: .3rem 0; }
        progress { width: 100%; height: .6rem; accent-color: var(--accent); }
        """

    private static let chart = """

        .drawing { border: 0; border-radius: 0; background: none; direction: rtl; }
        .chart { display: block; width: 100%; min-width: 60rem; height: auto; direction: ltr; }
        .chart text { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
        .chart .rule { stroke: var(--line); stroke-width: 1; }
        .s0 { fill: var(--s0); background: var(--s0); } .s1 { fill: var(--s1);
          background: var(--s1); } .s2 { fill: var(--s2); background: var(--s2); }
        .s3 { fill: var(--s3); background: var(--s3); } .s4 { fill: var(--s4);
          background: var(--s4); } .s5 { fill: var(--s5); background: var(--s5); }
        .s6 { fill: var(--s6); background: var(--s6); }
        .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none;
          padding: 0; margin: .6rem 0 0; font-size: .8125rem; }
        .legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px;
          margin-right: .4rem; }
        .bar { display: block; width: 100%; height: .5rem; }
        """
}
