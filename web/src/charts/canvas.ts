// Canvases at the density of the screen.

/** Most pixels of a canvas: some browsers draw nothing beyond. */
const PIXELS_MAX = 16_000_000;
const SIDE_MAX = 16_000;

/** Sizes a canvas in CSS pixels and gives its drawing context in the same unit, cleared. */
export function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const most = Math.min(Math.sqrt(PIXELS_MAX / (width * height)), SIDE_MAX / Math.max(width, height));
  const density = Math.min(window.devicePixelRatio || 1, most);
  const [pixelsWide, pixelsHigh] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== pixelsWide || canvas.height !== pixelsHigh) {
    [canvas.width, canvas.height] = [pixelsWide, pixelsHigh];
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const ctx = canvas.getContext("2d");
  ctx?.setTransform(density, 0, 0, density, 0, 0);
  ctx?.clearRect(0, 0, width, height);
  return ctx;
}
