// The colours of the map: those of the page's theme, and those of the entries of the legend. A colour is three parts in [0, 1].

const BLUE_TO_GREY = ['#2f6fb0', '#c8662b', '#2e8b74', '#8a63a8', '#a8892a', '#5b7083', '#b5527a', '#5a8f3c']

const CONTRAST = 4.5 // of text and ground, as WCAG asks for
const ROUNDS_ON_DARK = [0.33, 0.6, 0.17] // luminance of the colours of each round
const HOLLOW = 2 // is added to the alpha of what is drawn as an outline

const mix = (one, other, share) => one.map((part, i) => part + (other[i] - part) * share)
const css = (rgb, alpha = 1) => `rgba(${rgb.map((part) => Math.round(part * 255)).join(',')},${alpha})`

/** A colour as any stylesheet may write it, read by a canvas. */
function readColour(pen, text) {
  pen.fillStyle = '#888'
  pen.fillStyle = text.trim()
  const found = pen.fillStyle
  if (found[0] === '#') return [1, 3, 5].map((at) => parseInt(found.slice(at, at + 2), 16) / 255)
  return found.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255)
}

function readTheme(root, pen) {
  const style = getComputedStyle(root), read = (text) => readColour(pen, text)
  const text = read(style.color), ground = read(style.backgroundColor), accent = read(style.outlineColor)
  const isDark = ground[0] + ground[1] + ground[2] < 1.5
  const listed = style.getPropertyValue('--st-chart-categorical-colors').match(/#[0-9a-f]{6}/gi)
  const base = (listed ?? BLUE_TO_GREY).map(read)
  const red = read(style.getPropertyValue('--st-red-text-color') || '#a8321f')
  return { text, ground, accent, red, isDark, base, grey: mix(text, ground, isDark ? 0.4 : 0.5), quiet: mix(text, ground, 0.25), neutral: mix(text, ground, isDark ? 0.18 : 0.42), font: style.fontFamily }
}

// The first round takes the theme's colours as they are; later rounds are darker, then paler, so that none comes twice. On
// dark all colours of a round are equally bright, so that no domain stands out by its hue.
function entryColour(theme, entry) {
  if (entry.shade !== undefined) return mix(mix(theme.ground, theme.accent, 0.3), theme.isDark ? [1, 0.93, 0.6] : theme.text, entry.shade ** 1.3)
  if (entry.colour < 0) return [theme.grey, theme.red, theme.neutral][-entry.colour - 1]
  const n = theme.base.length, round = Math.floor(entry.colour / n) % 3
  const base = theme.base[entry.colour % n]
  if (theme.isDark) return brightened(base, ROUNDS_ON_DARK[round])
  return round === 0 ? base : round === 1 ? mix(base, theme.text, 0.42) : mix(base, theme.ground, 0.42)
}

const luminance = (rgb) => {
  const [red, green, blue] = rgb.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** A colour of a luminance: mixed with white or black until it has that. */
function brightened(rgb, wanted) {
  const end = luminance(rgb) < wanted ? [1, 1, 1] : [0, 0, 0]
  let [low, high] = [0, 1]
  for (let step = 0; step < 8; step++) {
    const middle = (low + high) / 2, isShort = luminance(mix(rgb, end, middle)) < wanted === (end[0] === 1)
    if (isShort) low = middle
    else high = middle
  }
  return mix(rgb, end, low)
}

/** A colour as text can have it: mixed with the colour of other text only as far as it takes to be read. */
function legible(theme, rgb) {
  const ground = luminance(theme.ground)
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = mix(rgb, theme.text, share), own = luminance(mixed)
    if ((Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05) >= CONTRAST) return mixed
  }
  return theme.text
}

/** The colours of all entries as the renderer takes them. What is hidden has no alpha, and what is hollow has `HOLLOW` more. */
function paletteOf({ points, colours, hidden, theme }) {
  const found = new Float32Array(256)
  const alpha = points.n > 20000 ? 0.7 : 0.88
  colours.entries.forEach((entry, i) => found.set([...entryColour(theme, entry), hidden.has(i) ? 0 : alpha + (entry.hollow ? HOLLOW : 0)], i * 4))
  return found
}
