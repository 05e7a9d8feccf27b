"""One URL per action. The name is the view's name: `memory-pin` is `memory_pin`."""

from django.urls import path

from memadmin.pages import help, login

app_name = "pages"
urlpatterns = [
    path("login/", login.login, name="login"),
    path("logout/", login.logout, name="logout"),
    path("theme/", login.theme, name="theme"),
    path("help/", help.help, name="help"),
]
