"""The web server: HTML pages for people and a JSON API for programs, in one process.

`server` composes the application, `state` is shared by all requests, `security` is what every
request passes; `api` serves `/api/v1`, and `pages` everything else.
"""
