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

  /** An area in the borders of a path, which is first made larger and moved: what is near its borders stays bare. */
  function shade(path, factor, [px, py], gap, rgb, alpha, lineAlpha) {
    const area = new Path2D()
    area.addPath(path, { a: factor, d: factor, e: px, f: py })
    pen.save()
    pen.clip(area)
    pen.fillStyle = css(rgb, alpha)
    pen.fill(area)
    pen.lineJoin = 'round'
    pen.lineWidth = 2 * (gap + OUTLINE_PIXELS)
    pen.strokeStyle = css(rgb, lineAlpha)
    pen.stroke(area)
    pen.restore()
    pen.save()
    pen.lineWidth = 2 * gap
    pen.globalCompositeOperation = 'destination-out'
    pen.strokeStyle = css(rgb)
    pen.stroke(area)
    pen.restore()
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
