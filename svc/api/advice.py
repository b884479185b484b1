"""The advice on an account's plan usage, which the responses of /v1/accounts contain."""

from __future__ import annotations

from pydantic import Field

from svc import model
from svc.api.fields import Count, Day, Moment
from svc.api.shape import ResponseBody
from svc.model import AdviceLevel, Metric, Suggestion, Unread


class Busiest(ResponseBody):
    """The highest usage on one day.

    For the metric `size`, `value` is the database's size, and `day` is the day on which the service read it.
    """

    day: Day | None = Field(description="The day to which `value` applies. Null if there was no usage.")
    value: Count


class MetricAdvice(ResponseBody):
    """Usage of one metric compared with its limit."""

    level: AdviceLevel
    limit: Count
    busiest: Busiest
    forecast: Day | None = Field(
        description="The day on which usage will reach the limit if the trend continues. Null if this is more than 30"
        " days away, if usage is not growing, or if the usage of fewer than 14 days is known."
    )


class Advice(ResponseBody):
    """Usage over the last seven complete days (UTC), compared with the limits of the account's plan."""

    level: AdviceLevel | None = Field(
        description="The worst level among the metrics that could be read. Null if no metric could be read."
    )
    metric: Metric | None = Field(
        description="The metric that determines `level`. If several metrics have this level, `metric` is the one"
        " closest to its limit. Null if `level` is `ok` or null."
    )
    metrics: dict[Metric, MetricAdvice] = Field(
        description="The metrics that could be read. `requests`, `writes` and `reads` are daily numbers for the whole"
        " Cloudflare account. `size` is the size of the Worker's database in bytes. On a paid plan, which has no daily"
        " limits, only `size` is present."
    )
    unavailable: tuple[Unread, ...] = Field(description="The data that could not be read in full.")
    suggest: Suggestion | None = Field(
        description="The setting to lower in order to shrink the database: `shorter_hourly_retention` means"
        " `days_kept`, and `shorter_month_retention` means `months_kept`. The service suggests `months_kept` only if"
        " the account is more than eight months old, and either the size is forecast to reach the limit or `days_kept`"
        " is already at its minimum. Null if the size of the database is not the only problem, if data could not be"
        " read (`unavailable`), or if neither setting can be lowered."
    )
    at: Moment

    @classmethod
    def from_model(cls, advice: model.Advice, suggestion: Suggestion | None) -> Advice:
        """Return the response for stored advice.

        `suggestion`: the suggestion that is shown with the advice, or None.
        """
        return cls(
            level=advice.level,
            metric=advice.metric,
            metrics={
                name: MetricAdvice(
                    level=usage.level,
                    limit=usage.limit,
                    busiest=Busiest(day=usage.busiest_day, value=usage.busiest),
                    forecast=usage.forecast,
                )
                for name, usage in advice.metrics.items()
            },
            unavailable=advice.unavailable,
            suggest=suggestion,
            at=advice.at,
        )
