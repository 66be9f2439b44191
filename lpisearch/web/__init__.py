"""Web server: HTML pages and a JSON API in one process.

`app.py` puts it together, `state.py` is what all requests share, `security/` is what every
request passes, `api/` answers programs under `/api/v1`, `pages/` answers people.
"""
