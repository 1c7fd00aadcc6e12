// What is drawn over the points on a canvas of its own: text, rings and outlines.

const OUTLINE_PIXELS = 1.5 // of an area

function mapOverlay(map, canvas) {
  const pen = canvas.getContext('2d')

  function wipe() {
    pen.setTransform(map.ratio, 0, 0, map.ratio, 0, 0)
    pen.clearRect(0, 0, map.width, map.height)
  }

  const measure = (text, size, weight) => ((pen.font = `${weight} ${size}px ${map.theme.font}`), pen.measureText(text).width)

  function write(text, px, py, size, weight, rgb, alpha = 1, align = 'center') {
    pen.font = `${weight} ${size}px ${map.theme.font}`
    pen.textAlign = align
    pen.textBaseline = 'middle'
    pen.lineJoin = 'round'
    pen.lineWidth = 4
    pen.strokeStyle = css(map.theme.ground, 0.85 * alpha)
    pen.strokeText(text, px, py)
    pen.fillStyle = css(rgb, alpha)
    pen.fillText(text, px, py)
  }

  function line(ends, width, rgb, alpha = 1) {
    pen.beginPath()
    for (const [from, to] of ends) pen.moveTo(...from), pen.lineTo(...to)
    pen.lineWidth = width
    pen.strokeStyle = css(rgb, alpha)
    pen.stroke()
  }

  /** A ring around a point, and where that is. */
  function ring(i, radius, rgb, width) {
    const [px, py] = map.camera.where(i)
    pen.beginPath()
    pen.arc(px, py, radius, 0, 7)
    pen.lineWidth = width + 2
    pen.strokeStyle = css(map.theme.ground, 0.9)
    pen.stroke()
    pen.lineWidth = width
    pen.strokeStyle = css(rgb)
    pen.stroke()
    return [px, py]
  }

  function drawOutline() {
    const outline = map.drag?.outline ?? map.lasso?.map(([x, y]) => map.camera.toScreen(x, y))
    if (!outline?.length) return
    pen.beginPath()
    outline.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)))
    pen.closePath()
    pen.fillStyle = css(map.theme.accent, map.drag?.outline ? 0.12 : 0.05)
    pen.fill()
    pen.lineWidth = 1.5
    pen.setLineDash([5, 4])
    pen.strokeStyle = css(map.theme.accent)
    pen.stroke()
    pen.setLineDash([])
  }

  /** An area: the surroundings of places, bands between some of them, and a line about it all. What it covers is wiped. */
  function shade(places, bands, radius, half, rgb, alpha, lineAlpha) {
    const fill = (inset, colour, how) => {
      pen.beginPath()
      for (const [px, py] of places) pen.moveTo(px + radius - inset, py), pen.arc(px, py, radius - inset, 0, 7)
      for (const [from, to] of bands) addBand(from, to, half - inset)
      pen.globalCompositeOperation = how
      pen.fillStyle = colour
      pen.fill()
    }
    fill(0, css(rgb, lineAlpha), 'source-over')
    fill(OUTLINE_PIXELS, css(rgb), 'destination-out')
    fill(OUTLINE_PIXELS, css(rgb, alpha), 'source-over')
  }

  /** A band between two places, drawn in the turn of an arc: drawn in the other one, it would cut holes into arcs. */
  function addBand([x0, y0], [x1, y1], half) {
    const length = Math.hypot(x1 - x0, y1 - y0)
    if (!length) return
    const [across, down] = [(-(y1 - y0) / length) * half, ((x1 - x0) / length) * half]
    pen.moveTo(x0 - across, y0 - down)
    pen.lineTo(x1 - across, y1 - down)
    pen.lineTo(x1 + across, y1 + down)
    pen.lineTo(x0 + across, y0 + down)
    pen.closePath()
  }

  /** A text in a box of one colour. */
  function badge(text, px, py, size, rgb, onRgb) {
    const half = measure(text, size, 600) / 2 + 6
    pen.beginPath()
    pen.roundRect(px - half, py - 8.5, 2 * half, 17, 8.5)
    pen.fillStyle = css(rgb)
    pen.fill()
    pen.font = `600 ${size}px ${map.theme.font}`
    pen.textAlign = 'center'
    pen.textBaseline = 'middle'
    pen.fillStyle = css(onRgb)
    pen.fillText(text, px, py + 0.5)
  }

  return { pen, wipe, measure, write, line, ring, shade, badge, drawOutline }
}
