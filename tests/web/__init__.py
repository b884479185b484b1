"""Tests of the web application in a real browser, with a real service and the emulated platform."""
