"""One URL per action. The name is the view's name: `memory-pin` is `memory_pin`."""

from django.urls import path

from memadmin.pages import containers, help, login, memories, memory, past, sessions

app_name = "pages"
urlpatterns = [
    path("login/", login.login, name="login"),
    path("logout/", login.logout, name="logout"),
    path("theme/", login.theme, name="theme"),
    path("help/", help.help, name="help"),
    path("containers/", containers.container_list, name="container-list"),
    path("containers/<uuid:uid>/users/", containers.user_list, name="user-list"),
    path("users/<uuid:uid>/", memories.user_memories, name="user-memories"),
    path("users/<uuid:uid>/header/", memories.user_header, name="user-header"),
    path("users/<uuid:uid>/sessions/", sessions.user_sessions, name="user-sessions"),
    path("users/<uuid:uid>/history/", past.user_history, name="user-history"),
    path("users/<uuid:uid>/archive/", past.user_archive, name="user-archive"),
    path("memories/<uuid:uid>/", memory.memory_detail, name="memory-detail"),
    path("memories/<uuid:uid>/row/", memory.memory_row, name="memory-row"),
    path("memories/<uuid:uid>/pin/", memory.memory_pin, name="memory-pin"),
    path("memories/<uuid:uid>/unpin/", memory.memory_unpin, name="memory-unpin"),
    path("memories/<uuid:uid>/pin-again/", memory.memory_pin_again, name="memory-pin-again"),
    path("sessions/<uuid:uid>/", sessions.session_detail, name="session-detail"),
    path("sessions/<uuid:uid>/pin/", sessions.session_pin, name="session-pin"),
    path("sessions/<uuid:uid>/unpin/", sessions.session_unpin, name="session-unpin"),
]
