"""The pages of the web application in a real browser, at a real service and the emulated platform."""
