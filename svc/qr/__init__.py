"""QR codes as SVG and PNG images, and a printable page with several QR codes. No I/O.

style     colors, margin and logo, and how much the colors differ in brightness
symbol    the modules of a QR code, and the area in its center for a logo
svg       draws a QR code as an SVG image
png       draws a QR code as a PNG image
raster    reads the operator's logo if it is a PNG file, and scales it
sheet     the page to print

Drawing takes 7 to 70 ms on a slow core, and longer for large PNG images with a logo, so run it in a thread.
"""
