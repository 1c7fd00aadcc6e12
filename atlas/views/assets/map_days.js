// The time below the map, by days, or by rank where one day brought more than half: how many experiences each brought, how well it went by then, and which of them are shown.

const TALL = 44 // pixels of the bars over time
const BARS = 120
const MARK_APART = 12 // pixels between what stands on the scale
const DATES = 4 // steps between the dates below the bars
const YEAR_FROM = 300 // days from which these dates are months of a year
const OPEN_END = 65535

function mapDays(map, brush) {
  let rates = null, counts = null, tell = () => {}, grow = () => {} // the last two write into what was drawn last
  const last = () => map.points.n_days - 1
  const until = () => Math.min(map.days[1], last())

  // The same days, counted from another first day; an end that is open stays open.
  function same([from, to], before, now) {
    const moved = before && now ? Math.round((Date.parse(before) - Date.parse(now)) / 86400000) : 0
    const along = (day) => Math.min(Math.max(day + moved, 0), OPEN_END - 1)
    return [from === 0 ? from : along(from), to === OPEN_END ? to : along(to)]
  }

  // By rank: the moment by then.
  function momentText(step) {
    const { moments, n_days } = map.points
    return moments[Math.round((step / Math.max(1, n_days - 1)) * (moments.length - 1))]
  }

  function dateText(day, parts) {
    const date = new Date(`${map.points.first_day}T00:00:00Z`)
    date.setUTCDate(date.getUTCDate() + Number(day))
    return date.toLocaleDateString('en-GB', { month: 'short', timeZone: 'UTC', ...parts }).replace('Sept', 'Sep') // as everywhere else
  }

  const isRanked = () => Boolean(map.points.moments?.length)
  const dayText = (day) => (isRanked() ? momentText(day) : dateText(day, { day: 'numeric', year: 'numeric' }))

  function draw() {
    brush.hidden = last() < 1
    if (brush.hidden) return
    const bars = make('canvas', 'bars', null), words = make('span', 'words', null), rate = make('span', 'rate', null)
    bars.setAttribute('role', 'img')
    bars.setAttribute('aria-label', 'Experiences over time, and the success rate so far')
    rates = ratesSoFar()
    counts = countsByBar()
    const ends = makeEnds()
    const track = make('div', 'track', null), scale = makeScale(), told = make('div', 'told', null)
    track.append(bars, ...ends, makeCaption(), scale, ...makeDates())
    told.append(words, rate)
    brush.replaceChildren(map.replay.button(), track, told)
    tell = () => {
      words.textContent = `${dayText(ends[0].value)} – ${dayText(ends[1].value)}`
      ends.forEach((slider) => slider.setAttribute('aria-valuetext', dayText(slider.value)))
      drawBars(bars)
      tellEnd(scale)
      rate.textContent = rateText(map.days[0], until())
    }
    grow = (day) => ((ends[0].value = 0), (ends[1].value = day), tell())
    tell()
  }

  /** What the bars and the line over time are. Where time runs by rank, all bars would be alike, so there are none. */
  function makeCaption() {
    const caption = make('div', 'caption', null)
    if (!isRanked()) make('i', 'bar', caption), caption.append(last() < BARS ? `per day (max ${Math.max(...counts).toLocaleString('en')})` : 'experiences over time')
    make('i', '', caption)
    caption.append('success rate so far')
    return caption
  }

  /** The scale of the success rate, beside its line. Where the line ends is told there. */
  function makeScale() {
    const scale = make('div', 'scale', null)
    for (const share of [1, 0]) addMark(scale, share, '')
    return scale
  }

  function addMark(scale, share, kind) {
    const mark = make('span', kind, scale, `${Math.round(100 * share)}%`)
    mark.style.top = `${rateHeight(share)}px`
    return mark
  }

  /** Write where the line ends now, instead of an end of the scale that is too near. */
  function tellEnd(scale) {
    const known = rates.known[until()], share = known ? rates.succeeded[until()] / known : null
    scale.querySelector('.now')?.remove()
    scale.childNodes.forEach((mark, at) => (mark.hidden = share !== null && Math.abs(rateHeight(share) - rateHeight(1 - at)) < MARK_APART))
    if (share !== null) addMark(scale, share, 'now')
  }

  const rateHeight = (share) => 2 + (1 - share) * (TALL - 4)

  /** Some dates below the bars. None where these stand for ranks. */
  function makeDates() {
    if (isRanked()) return []
    const n = Math.min(DATES, last()), parts = last() > YEAR_FROM ? { year: 'numeric' } : { day: 'numeric' }
    return Array.from({ length: n + 1 }, (_, at) => {
      const day = Math.round((at * last()) / n), date = make('span', 'date', null, dateText(day, parts))
      date.style.left = `calc(7px + (100% - 14px) * ${day / last()})`
      return date
    })
  }

  function makeEnds() {
    const ends = ['From', 'Until'].map((name, end) => {
      const slider = make('input', '', null), value = Math.min(map.days[end], last())
      return Object.assign(slider, { type: 'range', min: 0, max: last(), step: 1, value, ariaLabel: `${name} which day` })
    })
    ends.forEach((slider, end) => map.on(slider, 'input', () => choose(ends, end)))
    return ends
  }

  function choose(ends, end) {
    map.replay.stop()
    const slider = ends[end], other = Number(ends[1 - end].value)
    slider.value = end ? Math.max(slider.value, other) : Math.min(slider.value, other)
    map.days = [Number(ends[0].value), Number(ends[1].value) === last() ? OPEN_END : Number(ends[1].value)]
    tell()
    map.changed()
  }

  /** For each day, how many outcomes are known by then and how many of them succeeded. */
  function ratesSoFar() {
    const { n, n_days, day, outcome } = map.points
    const known = new Uint32Array(n_days), succeeded = new Uint32Array(n_days)
    for (let i = 0; i < n; i++) {
      if (outcome[i] > 1) continue
      known[day[i]]++
      succeeded[day[i]] += outcome[i] === 0 ? 1 : 0
    }
    for (let at = 1; at < n_days; at++) (known[at] += known[at - 1]), (succeeded[at] += succeeded[at - 1])
    return { known, succeeded }
  }

  function rateText(from, to) {
    const between = (sums) => sums[to] - (from ? sums[from - 1] : 0)
    const n = between(rates.known)
    return n ? percentOf(between(rates.succeeded), n) : 'no outcome known'
  }

  function countsByBar() {
    const all = last() + 1, n = Math.min(all, BARS), found = new Float64Array(n), { points } = map
    for (let i = 0; i < points.n; i++) found[Math.floor((points.day[i] * n) / all)]++
    return found
  }

  function drawBars(bars) {
    const all = last() + 1, n = counts.length, most = Math.max(...counts), { days } = map, pencil = bars.getContext('2d')
    bars.width = n * 4
    bars.height = TALL
    if (!isRanked()) counts.forEach((count, i) => {
      const day = (i / n) * all
      pencil.fillStyle = css(map.theme.accent, day >= days[0] - 1 && day <= days[1] ? 0.55 : 0.15)
      const tall = count ? Math.max(1.5, (count / most) * (TALL - 12)) : 0
      pencil.fillRect(i * 4, TALL - tall, 3, tall)
    })
    drawRates(pencil, bars.width, all)
  }

  function drawRates(pencil, wide, all) {
    pencil.beginPath()
    pencil.strokeStyle = css(map.theme.text, 0.85)
    pencil.lineWidth = 1.8
    for (let day = 0; day <= until(); day++) {
      if (!rates.known[day]) continue
      pencil.lineTo(((day + 0.5) / all) * wide, rateHeight(rates.succeeded[day] / rates.known[day]))
    }
    pencil.stroke()
  }

  return { draw, same, last, grow: (day) => grow(day) }
}
