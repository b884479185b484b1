"""The client for Cloudflare's API. The running service sends HTTP requests only from this package.

client         sends each request once; `tls` provides the trusted certificate authorities
bounded_body   reads the body of a response up to a maximum size
access         calls for one account with one token, with retries and paging
responses      classifies responses as results or failures, and decides whether to retry
call_limits    limits on the rate of calls
fair_limiter   shares the concurrent calls fairly between accounts and users
endpoints      classifies API paths by area, for the metrics
target_visits  requests to the targets of links, with their redirects
visits         requests to hosts other than Cloudflare's API, such as test views of users' sites
page_check     searches a site's home page for the snippet

Each of the other modules contains the calls for one part of the API: `tokens`, `workers`, `d1`, `routes`, `zones`,
`analytics` and `web_analytics`. `public_addresses` prevents requests to users' hosts from reaching the service's own
networks.
"""
